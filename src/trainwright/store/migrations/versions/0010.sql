ALTER TABLE model_version ADD COLUMN signature TEXT;
ALTER TABLE model_version ADD COLUMN card TEXT;
ALTER TABLE alias_move ADD COLUMN how TEXT NOT NULL DEFAULT 'moved';
ALTER TABLE alias_move ADD COLUMN evidence TEXT NOT NULL DEFAULT '[]';
CREATE INDEX model_version_run ON model_version (run_id);
CREATE INDEX model_version_digest ON model_version (project, digest);
CREATE TABLE model_removed (
    project TEXT NOT NULL REFERENCES project (name),
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    run_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    removed_at TEXT NOT NULL,
    removed_by TEXT NOT NULL,
    PRIMARY KEY (project, name, version)
);
CREATE TABLE document_revision (
    project TEXT NOT NULL REFERENCES project (name),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT,
    reason TEXT NOT NULL,
    applied_at TEXT NOT NULL,
    applied_by TEXT NOT NULL,
    PRIMARY KEY (project, kind, name, revision)
);
CREATE TABLE model_release (
    project TEXT NOT NULL REFERENCES project (name),
    target TEXT NOT NULL,
    number INTEGER NOT NULL,
    model TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    asked TEXT NOT NULL,
    state TEXT NOT NULL,
    rolls_back INTEGER,
    reason TEXT NOT NULL,
    place TEXT NOT NULL,
    error TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    ended_at TEXT,
    PRIMARY KEY (project, target, number)
);
CREATE INDEX model_release_model ON model_release (project, model, version);
