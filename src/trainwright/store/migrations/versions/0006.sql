CREATE TABLE dataset_tag (
    project TEXT NOT NULL REFERENCES project (name),
    name TEXT NOT NULL,
    tag TEXT NOT NULL,
    version INTEGER NOT NULL,
    tagged_at TEXT NOT NULL,
    tagged_by TEXT NOT NULL,
    PRIMARY KEY (project, name, tag)
);
CREATE TABLE dataset_removed (
    project TEXT NOT NULL REFERENCES project (name),
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    source TEXT NOT NULL,
    added_at TEXT NOT NULL,
    added_by TEXT NOT NULL,
    removed_at TEXT NOT NULL,
    removed_by TEXT NOT NULL,
    PRIMARY KEY (project, name, version),
    UNIQUE (project, name, digest)
);
CREATE TABLE dataset_keep (
    project TEXT NOT NULL REFERENCES project (name),
    name TEXT NOT NULL,
    last INTEGER NOT NULL,
    ruled_at TEXT NOT NULL,
    ruled_by TEXT NOT NULL,
    PRIMARY KEY (project, name)
);
CREATE TABLE table_profile (
    sha256 TEXT NOT NULL,
    reading TEXT NOT NULL,
    body TEXT NOT NULL,
    read_at TEXT NOT NULL,
    PRIMARY KEY (sha256, reading)
);
