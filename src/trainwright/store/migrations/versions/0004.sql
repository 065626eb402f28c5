ALTER TABLE run ADD COLUMN cache TEXT NOT NULL DEFAULT 'auto';
ALTER TABLE attempt ADD COLUMN key TEXT;
ALTER TABLE attempt ADD COLUMN reuse TEXT;
CREATE INDEX attempt_key ON attempt (key) WHERE key IS NOT NULL;
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
