"""References in shell scripts: what a shell does with them is tried with real shells."""

import subprocess

import pytest

from trainwright.spec.references import ReferenceSyntaxError
from trainwright.spec.shell import rewrite

EVIL = [
    "; echo pwned; ",
    "$(echo pwned)",
    "`echo pwned`",
    "a\nb",
    "'",
    '"',
    "*",
    "",
    " a  b ",
    "$HOME",
    "\\",
    "-n",
    "}}",
]
R = "${{ params.x }}"


def output(shell: str, script: str, value: str) -> str:
    rewritten = rewrite(script)
    assert not [r for r in rewritten.remarks if r.severe]
    env = {f"TW_REF_{n}": value for n, _ in enumerate(rewritten.variables, start=1)}
    done = subprocess.run(
        [shell, "-c", rewritten.text], env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, check=True
    )
    return done.stdout.decode()


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("value", EVIL)
def test_a_value_arrives_as_data_whatever_it_holds(shell: str, value: str) -> None:
    script = "\n".join(
        [
            f"printf '<%s>' {R}",
            f'printf "<%s>" "{R}"',
            f"X={R}; printf '<%s>' \"$X\"",
            f"printf '<%s>' --x={R}  # it's {R}",
            f"printf '<%s>' \"$(printf '%s.' {R})\"",
            f"printf '<%s>' \"${{none:-{R}}}\"",
        ]
    )
    expected = f"<{value}><{value}><{value}><--x={value}><{value}.><{value}>"
    assert output(shell, script, value) == expected


def test_equal_references_share_a_variable() -> None:
    script = rewrite(f"a {R} ${{{{data.raw}}}} {R}")
    assert script.text == 'a "$TW_REF_1" "$TW_REF_2" "$TW_REF_1"'
    assert [str(v) for v in script.variables] == ["${{ params.x }}", "${{ data.raw }}"]


@pytest.mark.parametrize(
    ("script", "place"),
    [
        (f"echo '{R}'", "single quotes"),
        (f"echo $'it\\'s {R}'", "single quotes"),
        (f"cat <<EOF\n{R}\nEOF", "here-document"),
        (f"cat <<-'E F'\n\t{R}\n\tE F", "here-document"),
        (f"cat << \\EOF | wc\n{R}\nEOF", "here-document"),
        (f"echo $(( {R} + 1 ))", "arithmetic"),
        (f"echo \\{R}", "backslash"),
    ],
)
def test_a_place_where_a_shell_expands_nothing_is_refused(script: str, place: str) -> None:
    (remark,) = rewrite(script).remarks
    assert remark.severe
    assert place in remark.message
    assert remark.remedy


@pytest.mark.parametrize(
    "script",
    [
        f"cat <<EOF\nx\nEOF\necho {R}",
        f"cat <<< {R}",
        f"echo 'a' {R} 'b'",
        f"# it's\necho {R}",
        f"echo a#b' ' {R}",
        f"echo \\' {R}",
        f"bash -c 'echo \"$1\"' _ {R}",
        f"python eval.py {R}",
        f"echo ${{#x}} {R}",
        f"echo $(( 1 << 2 )) {R}\necho {R}",
    ],
)
def test_a_place_where_a_value_is_data_is_not_remarked_upon(script: str) -> None:
    assert rewrite(script).remarks == ()


@pytest.mark.parametrize(
    "script",
    [
        f'bash -c "echo {R}"',
        f"sh -ec {R}",
        f"eval echo {R}",
        f"ssh host run {R}",
        f'/bin/bash -lc "{R}"',
        f"x=1 eval {R}",
    ],
)
def test_a_text_that_another_shell_runs_is_warned_of(script: str) -> None:
    (remark,) = rewrite(script).remarks
    assert not remark.severe


def test_a_doubled_dollar_stands_for_the_three_signs() -> None:
    assert rewrite("echo '$${{ x }}' $${{ y").text == "echo '${{ x }}' ${{ y"


@pytest.mark.parametrize("script", ["echo ${{ x }}", "echo ${{ a.b.c }}", "echo ${{ a.b", "echo ${{}}"])
def test_what_is_not_a_reference_is_refused(script: str) -> None:
    with pytest.raises(ReferenceSyntaxError):
        rewrite(script)
