"""The pipeline of pipeline.yaml in Python: the same commands, the same plan, the same digest.

tw run examples/penguins/pipeline.py -p C=0.01 -p depth=1
"""

import trainwright as tw

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@tw.pipeline(data={"raw": "pkg://palmerpenguins/data/penguins.csv"})
def penguins(
    raw,
    C: float = tw.param(1.0, range=(0.001, 1000), scale="log", help="inverse regularisation of the logistic model"),
    depth: int = tw.param(4, range=(1, 10), help="how many questions the tree may ask of one penguin"),
    seed: int = 7,
):
    survey = tw.command(
        "python survey.py --raw ${{ raw }}",
        raw=raw,
        check=["rows >= 300", "missing_columns == 0", "unknown_species == 0"],
        timeout="1m",
    )
    tables = tw.command(
        "python prepare.py --raw ${{ raw }} --out ${{ out.tables }} --seed ${{ seed }}",
        raw=raw,
        seed=seed,
        depends_on=survey,  # nothing is handed over: only the checks must have passed
        out={"tables": "dataset"},
        check=["null_rate_before <= 0.02", "dropped / rows <= 0.01", "null_rate == 0", "rows >= 300"],
    )
    logistic = tw.command(  # beside `tree`: neither reads the other
        "python logistic.py --tables ${{ tables }} --out ${{ out.model }} --C ${{ C }}",
        tables=tables,
        C=C,
        out={"model": "model"},
        env=ONE_THREAD,
        cpu=1,
        memory="1Gi",
        timeout="5m",
    )
    tree = tw.command(  # as a list: no shell in between
        ["python", "tree.py", "--tables", tables, "--out", "${{ out.model }}", "--depth", depth, "--seed", seed],
        out={"model": "model"},
        env=ONE_THREAD,
        cpu=1,
        memory="1Gi",
        timeout="5m",
    )
    model = tw.command(
        'python choose.py --tables ${{ tables }} --models "$LOGISTIC" "$TREE" --out ${{ out.model }}',
        tables=tables,
        env={"LOGISTIC": logistic, "TREE": tree},  # a reference here is an edge, as in the command
        out={"model": "model"},
    )
    tw.command(
        "python evaluate.py --tables ${{ tables }} --model ${{ model }}",
        tables=tables,
        model=model,
        check=["auc >= 0.97", "worst_recall >= 0.75", "auc >= production.auc - 0.01"],
    )
    tw.register(model, name="penguins", alias="candidate")


if __name__ == "__main__":
    penguins.run()
