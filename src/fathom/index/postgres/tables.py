"""Tables beside the index of a workspace: what is kept of answers; see `schema`."""

_WORKSPACE = "workspace_no int NOT NULL REFERENCES fathom.workspaces ON DELETE CASCADE"
_HELD = (
    'document text COLLATE "C" NOT NULL, start int NOT NULL, "end" int NOT NULL, mark text NOT NULL'
)

TRACES = (
    f"""CREATE TABLE fathom.traces(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_WORKSPACE},
      id text COLLATE "C" NOT NULL, started_at text NOT NULL, question text NOT NULL,
      strategy text COLLATE "C" NOT NULL, status text NOT NULL, size int NOT NULL,
      signals text NOT NULL, warnings text NOT NULL, data bytea NOT NULL,
      UNIQUE(workspace_no, id))""",
    "ALTER TABLE fathom.traces ALTER data SET STORAGE EXTERNAL",  # it is compressed already
    "CREATE INDEX ON fathom.traces(workspace_no, no) INCLUDE (size)",
    f"""CREATE TABLE fathom.held(
      {_WORKSPACE}, {_HELD},
      trace_no bigint NOT NULL REFERENCES fathom.traces ON DELETE CASCADE,
      PRIMARY KEY(workspace_no, document, start, "end", mark, trace_no))""",
    "CREATE INDEX ON fathom.held(trace_no)",
    f"CREATE TABLE fathom.swept({_WORKSPACE}, revision text NOT NULL, PRIMARY KEY(workspace_no))",
    f"""CREATE TABLE fathom.feedback(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_WORKSPACE},
      trace_id text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL,
      strategy text COLLATE "C" NOT NULL, data text NOT NULL, UNIQUE(workspace_no, trace_id))""",
    "CREATE INDEX ON fathom.feedback(workspace_no, key)",
    f"""CREATE TABLE fathom.feedback_held(
      {_WORKSPACE}, {_HELD},
      feedback_no bigint NOT NULL REFERENCES fathom.feedback ON DELETE CASCADE,
      PRIMARY KEY(workspace_no, document, start, "end", mark, feedback_no))""",
    "CREATE INDEX ON fathom.feedback_held(feedback_no)",
)
TRACES_GUARDED = ("traces", "held", "swept", "feedback", "feedback_held")
