/** Keys for models alone, how often an agent looks, routes that go with a lost node, and a history that can be trimmed. */
export const modelsUpkeep = `
ALTER TABLE api_keys DROP CONSTRAINT api_keys_scope_check;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_scope_check CHECK (scope IN ('read', 'write', 'models'));

ALTER TABLE pool_members ADD COLUMN look_seconds float8 NOT NULL DEFAULT 10 CHECK (look_seconds > 0);
COMMENT ON COLUMN pool_members.look_seconds IS 'how often its agent looks, as the last look said';

CREATE INDEX model_events_limits ON model_events (at) WHERE kind = 'limits';
CREATE INDEX model_events_by_itself ON model_events (at) WHERE kind NOT IN ('limits', 'claimed', 'changed', 'ending', 'ended');

CREATE FUNCTION tell_models_of_node() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    PERFORM pg_notify(''berth_models'', claim_id) FROM model_instances WHERE node = NEW.name AND closed_at IS NULL;
    RETURN NULL;
  END';
CREATE TRIGGER nodes_told_models AFTER UPDATE OF lost_at ON nodes FOR EACH ROW
  WHEN ((OLD.lost_at IS NULL) IS DISTINCT FROM (NEW.lost_at IS NULL)) EXECUTE FUNCTION tell_models_of_node();
`;
