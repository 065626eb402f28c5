"""What enters a job: the runner and the calls a script may use. Standard library only, Python 3.9 by syntax."""
