"""No URI with a secret is written down."""

import pytest

from trainwright.core.errors import SpecError
from trainwright.core.uri import refuse_secrets

SECRETS = [
    "s3://ak:hunter2@bucket/key",
    "https://hunter2@github.com/a/b",
    "git+https://hunter2@github.com/a/b@main",
    "git+https://ada:hunter2@github.com/a/b@main#data",
    "https://h/f.csv?X-Amz-Signature=hunter2",
    "https://h/f.csv?a=1&X-Goog-Credential=hunter2",
    "https://acc.blob.core.windows.net/c/f.csv?sv=2024&sig=hunter2",
    "https://h/f.csv?access_token=hunter2",
    "s3://b/k?AWSAccessKeyId=hunter2&Expires=1",
    "delta+s3://b/t?secret-access-key=hunter2",
    "hdfs://ada:hunter2@name:8020/data",
]


@pytest.mark.parametrize("uri", SECRETS)
def test_a_uri_with_a_secret_is_refused_and_not_repeated(uri: str) -> None:
    with pytest.raises(SpecError) as caught:
        refuse_secrets(uri, "p.yaml:3:4")
    assert caught.value.problem.code == "TW2111"
    assert "hunter2" not in str(caught.value)
    assert caught.value.problem.where == "p.yaml:3:4"


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/a@b:c/key?versionId=abc",
        "abfss://container@account.dfs.core.windows.net/data",
        "sftp://ada@host/data",
        "git+ssh://git@github.com/a/b@main#x",
        "git+file:/a/b@v1#x",
        "hf://datasets/org/name@refs%2Fpr%2F1",
        "delta:/t?version=3",
        "iceberg:/t?snapshot=12",
        "https://h/f.csv?page=2",
        "data/a:b@c?d.csv",
    ],
)
def test_any_other_passes(uri: str) -> None:
    refuse_secrets(uri)
