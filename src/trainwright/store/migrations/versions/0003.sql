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
