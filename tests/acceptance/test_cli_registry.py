"""The registry at the command line: policies, history, cards, releases, namespaces; and nothing outside is touched."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from shell import Shell

TRAIN = """
    import json, sys
    from pathlib import Path
    import trainwright as tw

    quality, model = float(sys.argv[1]), Path(sys.argv[2])
    tw.params(device="cpu")
    tw.signature(inputs={"pixels": "float64[64]"}, outputs={"digit": "int64"})
    tw.log(loss=1 - quality)
    model.mkdir()
    (model / "model.json").write_text(json.dumps({"quality": quality}))
    (model / "model_card.md").write_text("# Mine\\n```\\n<script>alert(1)</script>\\n")
    """
EVALUATE = """
    import json, sys
    from pathlib import Path
    import trainwright as tw

    tw.log(auc=json.loads((Path(sys.argv[1]) / "model.json").read_text())["quality"])
    """
PIPELINE = """
    pipeline: gated
    params: {quality: 0.9, seed: 7}
    data: {raw: datasets/ads/clicks@latest}
    steps:
      train:
        stage: training
        run: python train.py ${{ params.quality }} ${{ out.model }} ${{ data.raw }}
        out: {model: model}
      evaluate:
        run: python evaluate.py ${{ train.model }}
        check: ["auc >= 0.5"]
      register: {uses: register, with: {model: train.model, name: gated, alias: candidate}}
    """
POLICY = """
    apiVersion: trainwright/v1
    kind: AliasPolicy
    metadata: {name: production}
    spec:
      alias: production
      require: ["auc >= 0.9", "auc >= production.auc"]
      from: candidate
    """
SPACE = """
    apiVersion: trainwright/v1
    kind: Namespace
    metadata: {name: ads}
    spec: {match: ["datasets/ads/*", models/gated], team: ads}
    """
TARGET = """
    apiVersion: trainwright/v1
    kind: ReleaseTarget
    metadata: {name: serving}
    spec: {type: folder, require_alias: production, with: {root: serving}}
    """


def project(shell: Shell) -> None:
    for name, text in (
        ("train.py", TRAIN), ("evaluate.py", EVALUATE), ("pipeline.yaml", PIPELINE), ("policy.yaml", POLICY),
        ("space.yaml", SPACE), ("target.yaml", TARGET), ("clicks.csv", "a,b\n1,2\n"), (".gitignore", ".trainwright\n"),
    ):  # fmt: skip
        shell.write(name, text)
    shell.run("dataset", "add", "ads/clicks", "clicks.csv", code=0)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Version 1 of auc 0.9 and version 2 of auc 0.85, under a policy, in a namespace, with a target."""
    with Shell(tmp_path_factory.mktemp("registry") / "p") as made:
        project(made)
        made.run("run", "pipeline.yaml", code=0)
        made.run("run", "pipeline.yaml", "-p", "quality=0.85", code=0)
        made.run("apply", "-f", "policy.yaml", "-f", "space.yaml", "-f", "target.yaml", "-m", "rules", code=0)
        made.run("model", "promote", "gated/1", "-m", "first", code=0)
        made.run("release", "gated@production", "--to", "serving", code=0)
        yield made


def test_a_refused_promotion_shows_its_evidence_and_ends_with_three(shell: Shell) -> None:
    said = shell.run("model", "promote", "gated/2", code=3)
    assert [line.split()[-4] for line in said.out.splitlines() if "failed" in line][0] == "failed"  # noqa: RUF015
    assert "error[TW3204]: models/gated/2 may not become gated@production" in said.err
    assert "auc >= production.auc failed" in said.err
    told = shell.run("model", "promote", "gated/2", "--json", code=3).json
    assert [e["verdict"] for e in told["evidence"]] == ["passed", "passed", "failed", "failed"]
    assert told["evidence"][3]["baseline"] == "models/gated/1"
    assert shell.run("model", "promote", "gated/2", "--dry-run", code=3).out == said.out


def test_what_was_production_then(shell: Shell) -> None:
    move = shell.run("model", "history", "gated@production", "--json", code=0).json[0]
    day = move["moved_at"][:10]
    held = shell.run("model", "ls", "gated@production", "--at", day, "--json", code=0).json
    assert (held["version"]["version"], held["move"]["reason"], held["until"]) == (1, "first", None)
    assert shell.run("model", "show", "gated@production", "--at", day, code=0).out.startswith("models/gated/1\n")
    assert "was models/gated/1" in shell.run("model", "ls", "gated@production", "--at", day, code=0).out
    assert "TW4103" in shell.run("model", "show", "gated@production", "--at", "2020-05-03", code=4).err


def test_one_version_is_shown_with_all_that_is_known(shell: Shell) -> None:
    said = shell.run("model", "show", "gated@production", code=0).out
    for words in (
        "team:       ads",
        "data:       datasets/ads/clicks@1",
        "params:     quality=0.9  seed=7",
        "signature:  (pixels: float64[64]) → (digit: int64)  by the step",
        "format:     json",
        "check:      passed: auc >= 0.5",
        "release:    serving-1 released",
    ):
        assert words in said
    told = shell.run("model", "show", "gated/1", "--json", code=0).json
    assert [d["address"] for d in told["data"]] == ["datasets/ads/clicks@1"]
    assert told["teams"] == ["ads"]
    assert told["fingerprint"]["params"] == {"quality": 0.9, "seed": 7}


def test_two_versions_are_compared(shell: Shell) -> None:
    told = shell.run("model", "diff", "gated/1", "gated/2", "--json", code=0).json
    changed = {(d["part"], d["name"]) for d in told["differs"] if not d["equal"]}
    assert changed == {("metric", "auc"), ("metric", "loss"), ("param", "quality"), ("content", "digest")}
    assert "datasets/ads/clicks" in {d["name"] for d in told["differs"] if d["part"] == "data"}
    assert "nothing differs" in shell.run("model", "diff", "gated/1", "gated@production", code=0).err


def test_a_card_says_what_is_on_record_and_quotes_its_author_safely(shell: Shell) -> None:
    card = shell.run("model", "card", "gated@production", code=0).out
    assert card.startswith("# Model card: models/gated/1\n")
    assert "| datasets/ads/clicks@1 |" in card
    assert "| auc &gt;= 0.5 | passed |" in card
    fence = card.split("## In the words of its author\n\n")[1].splitlines()
    assert fence[0] == "````text"
    assert fence[-1] == "````"
    assert shell.run("model", "card", "gated@production", code=0).out == card
    told = shell.run("model", "card", "gated/1", "--json", code=0).json
    assert told["words"].startswith("# Mine")


def test_a_release_is_laid_out_for_a_server(shell: Shell) -> None:
    home = shell.folder / "serving" / "gated"
    assert json.loads((home / "current" / "model.json").read_text()) == {"quality": 0.9}
    record = json.loads((home / "current" / "release.json").read_text())
    assert (record["version"], record["signature"]["source"]) == (1, "step")
    listed = shell.run("release", "ls", "--json", code=0).json
    assert [(r["id"], r["state"], r["serves"]) for r in listed] == [("serving-1", "released", True)]
    assert "TW3208" in shell.run("release", "--to", "serving", "gated/2", code=3).err
    assert "TW4702" in shell.run("release", "rollback", "serving", code=4).err
    assert "TW4701" in shell.run("release", "gated/1", "--to", "servin", code=4).err


def test_what_is_referred_to_is_not_removed(shell: Shell) -> None:
    said = shell.run("model", "rm", "gated/1", code=3)
    assert "the alias gated@production" in said.err
    assert "release serving-1" in said.err


def test_the_documents_that_hold_are_listed_and_their_log_is_kept(shell: Shell) -> None:
    listed = shell.run("config", "ls", "--json", code=0).json
    assert [f"{d['kind']}/{d['name']}" for d in listed] == [
        "AliasPolicy/production", "Namespace/ads", "ReleaseTarget/serving",
    ]  # fmt: skip
    shown = shell.run("config", "show", "AliasPolicy/production", code=0).out
    shell.write("again.yaml", shown)
    assert "unchanged, revision 1" in shell.run("apply", "-f", "again.yaml", code=0).out
    assert len(shell.run("config", "log", "--json", code=0).json) == 3
    assert "TW4501" in shell.run("config", "show", "AliasPolicy/prod", code=4).err
    schema = shell.run("schema", "Namespace", code=0).json
    assert schema["properties"]["kind"] == {"const": "Namespace"}
    assert "did you mean Namespace?" in shell.run("schema", "Namespce", code=2).err


def test_one_bad_document_keeps_the_others_from_being_applied(shell: Shell) -> None:
    shell.write("bad.yaml", SPACE.replace("team: ads", "tem: ads"))
    shell.write("changed.yaml", POLICY.replace("0.9", "0.7"))
    said = shell.run("apply", "-f", "changed.yaml", "-f", "bad.yaml", code=2)
    assert "error[TW1010]: unknown key 'tem'" in said.err
    assert "bad.yaml:5:" in said.err
    shown = shell.run("apply", "-f", "changed.yaml", "--dry-run", code=0).out
    assert '["auc >= 0.9", "auc >= production.auc"] → ["auc >= 0.7", "auc >= production.auc"]' in shown


def test_a_registered_model_is_loaded_and_copied_out(shell: Shell) -> None:
    code = "import trainwright as tw; print(tw.load_model('models/gated@production'))"
    done = shell.shell(f'python -c "{code}"')
    assert done.stdout == "{'quality': 0.9}\n", done
    shell.run("model", "get", "gated@production", "out/here", code=0)
    assert json.loads((shell.folder / "out" / "here" / "model.json").read_text()) == {"quality": 0.9}
    assert "TW5201" in shell.run("model", "get", "gated@production", "out/here", code=1).err


EVIL = [
    "../../etc/passwd", "..%2f..%2fetc/passwd", "/etc/passwd", "a/../../b", "..\\x", "gated/../canary",
    "gated@../canary", "models/gated/1/../../canary", "file:///etc/passwd", "http:///#/../../etc", "gated/1\n2", "",
]  # fmt: skip


def test_g31_no_name_leads_out_of_the_registry(shell: Shell) -> None:
    canary = shell.folder.parent / "canary"
    canary.write_text("the canary sings")
    before = sorted(p for p in shell.folder.parent.iterdir())
    for name in EVIL:
        said = shell.run("model", "get", name, "evil")
        assert said.code in {2, 4}, said
        assert "sings" not in said.out + said.err
    assert not (shell.folder / "evil").exists()
    assert sorted(p for p in shell.folder.parent.iterdir()) == before


def test_g31_nothing_is_copied_through_a_link(shell: Shell) -> None:
    outside = shell.folder.parent / "outside"
    outside.mkdir()
    for name in ("link", "nowhere"):
        (shell.folder / name).symlink_to(outside if name == "link" else outside / "gone")
        shell.run("model", "get", "gated/1", name, code=1)
    assert list(outside.iterdir()) == []


def test_g31_a_link_in_a_model_that_leads_out_is_not_stored(tmp_path: Path) -> None:
    (tmp_path / "canary").write_text("the canary sings")
    with Shell(tmp_path / "p") as made:
        made.write("x.yaml", """
            pipeline: x
            steps:
              train: {run: "mkdir ${{ out.m }}; ln -s HERE/canary ${{ out.m }}/leak", out: {m: model}}
            """.replace("HERE", str(tmp_path)))  # fmt: skip
        said = made.run("run", "x.yaml", code=1)
        assert "leads out of" in said.out
        assert "sings" not in said.out + said.err


def test_g25_a_namespace_for_production_takes_committed_code_only(tmp_path: Path) -> None:
    with Shell(tmp_path / "p") as made:
        project(made)
        made.write("space.yaml", SPACE.replace("team: ads", "team: ads, code: clean"))
        made.run("apply", "-f", "space.yaml", code=0)
        assert "the code is in no commit" in made.run("run", "pipeline.yaml", code=3).err
        git(made.folder, "init", "-q")
        git(made.folder, "add", "-A")
        git(made.folder, "commit", "-qm", "all")
        made.run("run", "pipeline.yaml", code=0)
        made.write("train.py", TRAIN + "\n    # edited\n")
        refused = made.run("run", "pipeline.yaml", code=3)
        assert "error[TW3207]" in refused.err
        assert "train.py changed or new" in refused.err
        assert "team ads" in refused.err
        git(made.folder, "checkout", "-q", "train.py")
        made.write("new.py", "x = 1")
        assert "new.py changed or new" in made.run("run", "pipeline.yaml", code=3).err
        assert len(made.run("ps", "--json", code=0).json) == 1


def git(folder: Path, *words: str) -> None:
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(("git", *words), cwd=folder, check=True, env={**os.environ, **names}, capture_output=True)
