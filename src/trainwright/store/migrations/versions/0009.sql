CREATE INDEX attempt_input_address ON attempt_input (address);
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
