"""One supervisor serves all projects of a person; none of them may take it along when it goes."""

import shutil

from shell import Shell

VALUE = """
pipeline: value
steps:
  make:
    run: echo '[1, 2]' > ${{ out.list }}
    out: {list: value}
  each_one:
    for_each: make.list
    run: echo ${{ each.value }} > ${{ out.text }}
    out: {text: file}
  read:
    run: cat ${{ each_one.text }}/*
"""


def test_a_project_that_is_deleted_breaks_no_other(tmp_path):
    with Shell(tmp_path / "first") as first:
        first.write("bare.yaml", "pipeline: bare\nsteps: {a: {run: 'true'}}\n")
        first.run("run", "bare.yaml", code=0)
        shutil.rmtree(first.folder)
        runtime = first.environ["TW_RUNTIME_DIR"]
        with Shell(tmp_path / "second", TW_RUNTIME_DIR=runtime) as second:
            second.write("value.yaml", VALUE)
            second.run("run", "value.yaml", code=0)
            assert second.run("logs", "-1/read", code=0).out == "1\n2\n"
            assert all(a["number"] == 1 for a in second.show()["attempts"])
