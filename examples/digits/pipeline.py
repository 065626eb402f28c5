"""The pipeline of pipeline.yaml in Python: the same commands, the same plan, the same digest.

tw run examples/digits/pipeline.py -p epochs=1
"""

import trainwright as tw


@tw.pipeline(standard=True, data={"raw": "pkg://sklearn/datasets/data/digits.csv.gz"})
def digits(
    raw,
    C: float = tw.param(1.0, range=(0.001, 100), scale="log", help="inverse regularisation"),
    epochs: int = tw.param(30, range=(1, 200), help="passes over the training set"),
    lr: float = tw.param(0.1, range=(0.001, 1), scale="log", help="step size of gradient descent"),
    seed: int = 7,
):
    table = tw.command(
        "python prep.py --raw ${{ raw }} --out ${{ out.table }} --seed ${{ seed }}",
        raw=raw,
        seed=seed,
        stage="data_preparation",
        out={"table": "dataset"},
        check=["rows >= 1000", "null_rate <= 0.01"],
    )
    arrays = tw.command(
        "python features.py --table ${{ table }} --out ${{ out.arrays }}",
        table=table,
        stage="feature_load",
        out={"arrays": "dataset"},
    )
    initial = tw.command(
        "python init.py --arrays ${{ arrays }} --out ${{ out.model }} --seed ${{ seed }}",
        arrays=arrays,
        seed=seed,
        stage="model_init",
        out={"model": "model"},
    )
    model = tw.command(
        "python train.py"
        " --arrays ${{ arrays }} --initial ${{ initial }} --out ${{ out.model }}"
        " --C ${{ C }} --epochs ${{ epochs }} --lr ${{ lr }} --seed ${{ seed }}",
        arrays=arrays,
        initial=initial,
        C=C,
        epochs=epochs,
        lr=lr,
        seed=seed,
        stage="training",
        out={"model": "model"},
        cpu=1,
        memory="1Gi",
        retry=1,
    )
    tw.command(
        "python evaluate.py --arrays ${{ arrays }} --model ${{ model }} --confusion ${{ out.confusion }}",
        arrays=arrays,
        model=model,
        stage="evaluation",
        out={"confusion": "file"},
        check=["auc >= 0.95", "auc >= production.auc - 0.005"],
    )
    tw.register(model, name="digits", alias="candidate")


if __name__ == "__main__":
    digits.run()
