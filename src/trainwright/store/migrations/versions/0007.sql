DROP INDEX metric_name;
DROP INDEX metric_run;
CREATE INDEX metric_run ON metric (run_id, name);
