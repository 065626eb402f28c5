"""Look at the raw file before anyone works with it: are the columns there, are the species known?"""

import argparse
import csv
from pathlib import Path

from penguins import MEASURES, SPECIES

import trainwright as tw


def survey(raw: Path) -> None:
    with raw.open(newline="") as lines:
        table = csv.DictReader(lines)
        rows = list(table)
        missing = {*MEASURES, "sex", "species"} - set(table.fieldnames or ())
    unknown = [row for row in rows if row.get("species") not in SPECIES]

    tw.log(rows=len(rows), missing_columns=len(missing), unknown_species=len(unknown))
    print(f"{len(rows)} rows, {len(missing)} columns missing, {len(unknown)} rows of unknown species")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raw", type=Path, required=True, help="penguins.csv as palmerpenguins ships it")
    survey(**vars(parser.parse_args()))
