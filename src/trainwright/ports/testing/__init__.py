"""What proves a plugin: contract suites, and fakes that keep the same promises."""
