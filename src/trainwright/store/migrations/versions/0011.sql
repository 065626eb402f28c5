ALTER TABLE attempt ADD COLUMN places TEXT NOT NULL DEFAULT '[]';
ALTER TABLE attempt ADD COLUMN placed_at TEXT;
ALTER TABLE attempt ADD COLUMN claim TEXT NOT NULL DEFAULT '[]';
ALTER TABLE attempt ADD COLUMN served_s REAL NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN preempted_at TEXT NOT NULL DEFAULT '[]';
ALTER TABLE attempt ADD COLUMN claimed_at TEXT;
ALTER TABLE attempt ADD COLUMN told_at TEXT;
UPDATE attempt SET places = json_array(json_object('devices', json(devices), 'node', '', 'pod_set', 0)),
    placed_at = started_at
    WHERE started_at IS NOT NULL OR devices <> '[]' OR state IN ('starting', 'running', 'stopping');
ALTER TABLE attempt DROP COLUMN devices;
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
