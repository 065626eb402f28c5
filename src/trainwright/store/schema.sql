-- The schema at the newest revision, for fresh SQLite databases; a test holds it equal to all migrations applied.
-- Instants are ISO 8601 texts in UTC, structures are canonical JSON, NaN is NULL.
CREATE TABLE project (
    name TEXT NOT NULL PRIMARY KEY,
    created_at TEXT NOT NULL
);
CREATE TABLE plan (
    project TEXT NOT NULL REFERENCES project (name),
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (project, digest)
);
CREATE TABLE fingerprint (
    project TEXT NOT NULL REFERENCES project (name),
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (project, digest)
);
CREATE TABLE run (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL REFERENCES project (name),
    number INTEGER NOT NULL,
    pipeline TEXT NOT NULL,
    source TEXT NOT NULL,
    plan_digest TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    params TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    submitted_at TEXT NOT NULL,
    submitted_by TEXT NOT NULL,
    started_at TEXT,
    finished_at TEXT,
    stop_asked_by TEXT,
    revision INTEGER NOT NULL,
    lease_owner TEXT,
    lease_expires_at TEXT,
    cache TEXT NOT NULL DEFAULT 'auto',
    resumes TEXT,
    reproduces TEXT,
    UNIQUE (project, number)
);
CREATE INDEX run_state ON run (project, state);
CREATE TABLE step (
    run_id TEXT NOT NULL REFERENCES run (id),
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    attempts INTEGER NOT NULL,
    started_at TEXT,
    finished_at TEXT,
    metadata TEXT NOT NULL,
    gates TEXT NOT NULL,
    parent TEXT,
    item TEXT,
    tally TEXT,
    forgiven INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, name)
);
CREATE TABLE attempt (
    id TEXT NOT NULL PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES run (id),
    step TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    token TEXT NOT NULL,
    queued_at TEXT NOT NULL,
    not_before TEXT,
    reason TEXT,
    exit_class TEXT,
    exit_code INTEGER,
    signal INTEGER,
    started_at TEXT,
    finished_at TEXT,
    params TEXT NOT NULL,
    key TEXT,
    reuse TEXT,
    places TEXT NOT NULL DEFAULT '[]',
    placed_at TEXT,
    claim TEXT NOT NULL DEFAULT '[]',
    served_s REAL NOT NULL DEFAULT 0,
    preempted_at TEXT NOT NULL DEFAULT '[]',
    claimed_at TEXT,
    told_at TEXT,
    UNIQUE (run_id, step, number)
);
CREATE INDEX attempt_state ON attempt (state);
CREATE INDEX attempt_key ON attempt (key) WHERE key IS NOT NULL;
CREATE TABLE metric (
    attempt_id TEXT NOT NULL REFERENCES attempt (id),
    run_id TEXT NOT NULL,
    step TEXT NOT NULL,
    name TEXT NOT NULL,
    last REAL,
    low REAL,
    high REAL,
    count INTEGER NOT NULL,
    last_step INTEGER,
    PRIMARY KEY (attempt_id, name)
);
CREATE INDEX metric_run ON metric (run_id, name);
CREATE TABLE attempt_input (
    attempt_id TEXT NOT NULL REFERENCES attempt (id),
    name TEXT NOT NULL,
    run_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    address TEXT NOT NULL,
    digest TEXT NOT NULL,
    files INTEGER NOT NULL,
    size_bytes BIGINT NOT NULL,
    PRIMARY KEY (attempt_id, name)
);
CREATE INDEX attempt_input_run ON attempt_input (run_id);
CREATE INDEX attempt_input_digest ON attempt_input (digest);
CREATE INDEX attempt_input_address ON attempt_input (address);
CREATE TABLE output (
    attempt_id TEXT NOT NULL REFERENCES attempt (id),
    name TEXT NOT NULL,
    run_id TEXT NOT NULL,
    step TEXT NOT NULL,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    files INTEGER NOT NULL,
    size_bytes BIGINT NOT NULL,
    PRIMARY KEY (attempt_id, name)
);
CREATE INDEX output_run ON output (run_id);
CREATE INDEX output_digest ON output (digest);
CREATE TABLE dataset_version (
    project TEXT NOT NULL REFERENCES project (name),
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    files INTEGER NOT NULL,
    size_bytes BIGINT NOT NULL,
    source TEXT NOT NULL,
    added_at TEXT NOT NULL,
    added_by TEXT NOT NULL,
    PRIMARY KEY (project, name, version),
    UNIQUE (project, name, digest)
);
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
CREATE TABLE model_version (
    project TEXT NOT NULL REFERENCES project (name),
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    files INTEGER NOT NULL,
    size_bytes BIGINT NOT NULL,
    run_id TEXT NOT NULL REFERENCES run (id),
    step TEXT NOT NULL,
    output TEXT NOT NULL,
    metrics TEXT NOT NULL,
    gates TEXT NOT NULL,
    registered_at TEXT NOT NULL,
    registered_by TEXT NOT NULL,
    signature TEXT,
    card TEXT,
    PRIMARY KEY (project, name, version)
);
CREATE INDEX model_version_run ON model_version (run_id);
CREATE INDEX model_version_digest ON model_version (project, digest);
CREATE TABLE model_alias (
    project TEXT NOT NULL REFERENCES project (name),
    model TEXT NOT NULL,
    alias TEXT NOT NULL,
    version INTEGER,
    revision INTEGER NOT NULL,
    PRIMARY KEY (project, model, alias)
);
CREATE TABLE alias_move (
    project TEXT NOT NULL REFERENCES project (name),
    model TEXT NOT NULL,
    alias TEXT NOT NULL,
    revision INTEGER NOT NULL,
    before INTEGER,
    after INTEGER,
    reason TEXT NOT NULL,
    moved_at TEXT NOT NULL,
    moved_by TEXT NOT NULL,
    how TEXT NOT NULL DEFAULT 'moved',
    evidence TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (project, model, alias, revision)
);
CREATE TABLE outbox (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL REFERENCES project (name),
    run_id TEXT NOT NULL REFERENCES run (id),
    attempt_id TEXT NOT NULL,
    act TEXT NOT NULL,
    why TEXT NOT NULL,
    done_at TEXT
);
CREATE INDEX outbox_open ON outbox (run_id, done_at);
CREATE TABLE event (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL REFERENCES project (name),
    run_id TEXT NOT NULL REFERENCES run (id),
    subject TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    at TEXT NOT NULL
);
CREATE INDEX event_run ON event (run_id, seq);
CREATE TABLE audit (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL REFERENCES project (name),
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    details TEXT NOT NULL
);
CREATE TABLE pipeline_trigger (
    project TEXT NOT NULL REFERENCES project (name),
    pipeline TEXT NOT NULL,
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    file TEXT NOT NULL,
    path TEXT NOT NULL,
    state TEXT NOT NULL,
    armed_at TEXT NOT NULL,
    armed_by TEXT NOT NULL,
    since_at TEXT NOT NULL,
    since_seq INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (project, pipeline, name)
);
CREATE TABLE trigger_event (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL REFERENCES project (name),
    pipeline TEXT NOT NULL,
    name TEXT NOT NULL,
    event_id TEXT NOT NULL,
    at TEXT NOT NULL,
    state TEXT NOT NULL,
    run_id TEXT,
    reason TEXT,
    depth INTEGER NOT NULL,
    cause TEXT,
    UNIQUE (project, pipeline, name, event_id)
);
CREATE INDEX trigger_event_newest ON trigger_event (project, pipeline, name, seq);
CREATE INDEX trigger_event_state ON trigger_event (project, state);
CREATE INDEX trigger_event_run ON trigger_event (run_id);
CREATE INDEX trigger_event_cause ON trigger_event (cause);
CREATE TABLE cache_entry (
    project TEXT NOT NULL REFERENCES project (name),
    key TEXT NOT NULL,
    label TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES run (id),
    attempt_id TEXT NOT NULL REFERENCES attempt (id),
    parts TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_used_at TEXT NOT NULL,
    PRIMARY KEY (project, key)
);
CREATE INDEX cache_entry_label ON cache_entry (project, label, created_at);
CREATE INDEX cache_entry_run ON cache_entry (run_id);
CREATE TABLE source_imports (
    sha256 TEXT NOT NULL,
    reading INTEGER NOT NULL,
    body TEXT NOT NULL,
    read_at TEXT NOT NULL,
    PRIMARY KEY (sha256, reading)
);
CREATE TABLE export_cursor (
    project TEXT NOT NULL REFERENCES project (name),
    exporter TEXT NOT NULL,
    target TEXT NOT NULL,
    seq INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    tried_at TEXT,
    problem TEXT NOT NULL,
    PRIMARY KEY (project, exporter, target)
);
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
CREATE TABLE queue_use (
    project TEXT NOT NULL REFERENCES project (name),
    queue TEXT NOT NULL,
    share_s REAL NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (project, queue)
);
CREATE TABLE queue_cost (
    project TEXT NOT NULL REFERENCES project (name),
    queue TEXT NOT NULL,
    hour INTEGER NOT NULL,
    cost REAL NOT NULL,
    PRIMARY KEY (project, queue, hour)
);
CREATE TABLE queue_word (
    project TEXT NOT NULL REFERENCES project (name),
    subject TEXT NOT NULL,
    held_by TEXT NOT NULL,
    rank INTEGER NOT NULL,
    said_at TEXT NOT NULL,
    said_by TEXT NOT NULL,
    PRIMARY KEY (project, subject)
);
