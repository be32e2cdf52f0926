package kernel

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// sqlCases are statements, split at ";;". {x} is a file with that ending that holds the secret, {d} a folder, {env} the
// environment of the hub; the paths of the others are the same place for all. What has no secret in its answer is to change
// something.
var sqlCases = map[string][]string{
	"sqlite": strings.Split(strings.TrimSpace(`
ATTACH '{sqlite}' AS x;; SELECT * FROM x.t
ATTACH 'file:{sqlite}?mode=ro' AS x;; SELECT * FROM x.t
ATTACH 'file:{sqlite}?immutable=1' AS x;; SELECT * FROM x.t
ATTACH '{sqlite}' AS x;; CREATE TABLE y AS SELECT * FROM x.t;; SELECT * FROM y
ATTACH '{sqlite}' AS x;; VACUUM x INTO 'got.sqlite';; ATTACH 'got.sqlite' AS y;; SELECT * FROM y.t
database={sqlite};; SELECT * FROM t
ATTACH '{d}/new.sqlite' AS x;; CREATE TABLE x.t(a)
ATTACH 'file:{d}/new.sqlite?mode=rwc' AS x;; CREATE TABLE x.t(a)
ATTACH '{sqlite}' AS x;; INSERT INTO x.t VALUES ('x')
ATTACH '{sqlite}' AS x;; DELETE FROM x.t
ATTACH '{sqlite}' AS x;; DROP TABLE x.t;; VACUUM x
ATTACH '{sqlite}' AS x;; PRAGMA x.journal_mode = WAL;; INSERT INTO x.t VALUES ('x')
database={sqlite};; UPDATE t SET a = 'x'
database={d}/new.sqlite;; CREATE TABLE t(a)
CREATE TABLE t(a);; VACUUM INTO '{d}/new.sqlite'
CREATE TABLE t(a);; VACUUM INTO 'file:{d}/new.sqlite'
`), "\n"),
	"duckdb": strings.Split(strings.TrimSpace(`
SELECT content FROM read_text('{txt}')
SELECT content FROM read_text(['{txt}'])
SELECT content FROM read_text('{env}')
SELECT decode(content) FROM read_blob('{txt}')
FROM read_csv('{txt}', header = false, auto_detect = false, columns = {'a': 'VARCHAR'})
FROM read_csv_auto('{csv}')
FROM '{csv}'
FROM '{json}'
FROM '{parquet}'
FROM sniff_csv('{csv}')
FROM read_json('{json}')
FROM read_json_objects('{json}')
FROM read_ndjson_objects('{json}')
FROM read_parquet('{parquet}')
FROM read_parquet(['{parquet}'])
SUMMARIZE FROM '{csv}'
SELECT * FROM parquet_metadata('{parquet}')
CREATE TABLE t(a VARCHAR);; COPY t FROM '{csv}';; FROM t
CREATE TABLE t(a VARCHAR);; COPY t FROM '{txt}' (HEADER false);; FROM t
CREATE TABLE t AS FROM read_text('{txt}');; SELECT content FROM t
CREATE VIEW v AS SELECT content FROM read_text('{txt}');; FROM v
CREATE MACRO m(p) AS TABLE SELECT content FROM read_text(p);; FROM m('{txt}')
PREPARE s AS SELECT content FROM read_text($1);; EXECUTE s('{txt}')
SET VARIABLE p = '{txt}';; SELECT content FROM read_text(getvariable('p'))
FROM query('SELECT content FROM read_text(''{txt}'')')
SELECT content FROM read_text(reverse(reverse('{txt}')))
SELECT content FROM read_text(concat('{txt}'))
ATTACH '{duckdb}' AS x (READ_ONLY);; FROM x.t
ATTACH '{duckdb}' AS x;; FROM x.t
database={duckdb};; FROM t
COPY (SELECT content FROM read_text('{txt}')) TO 'got.csv';; FROM 'got.csv'
COPY (SELECT 'x') TO '{d}/new.csv'
COPY (SELECT 'x') TO '{txt}'
COPY (SELECT 'x') TO '{csv}' (FORMAT csv, USE_TMP_FILE false)
COPY (SELECT 'x') TO '{d}/new.json' (FORMAT json)
COPY (SELECT 'x') TO '{d}/new.parquet' (FORMAT parquet)
COPY (SELECT 1 AS a, 2 AS b) TO '{d}/new' (FORMAT csv, PARTITION_BY (a))
COPY (SELECT 1 AS a, 2 AS b) TO '{d}' (FORMAT csv, PARTITION_BY (a), OVERWRITE)
COPY (SELECT 1 AS a, 2 AS b) TO '{d}' (FORMAT csv, PER_THREAD_OUTPUT, OVERWRITE)
CREATE TABLE t(a INT);; EXPORT DATABASE '{d}/new'
ATTACH '{d}/new.duckdb' AS x;; CREATE TABLE x.t(a INT);; CHECKPOINT x
ATTACH '{duckdb}' AS x;; DROP TABLE x.t;; CHECKPOINT x
ATTACH '{duckdb}' AS x;; INSERT INTO x.t VALUES ('x');; CHECKPOINT x
database={d}/new.duckdb;; CREATE TABLE t(a INT)
SET log_query_path = '{d}/new.log';; SELECT 1
PRAGMA enable_profiling = 'json';; PRAGMA profiling_output = '{d}/new.json';; SELECT 1
SET temp_directory = '{d}/new';; SET memory_limit = '30MB';; CREATE TABLE t AS SELECT range, repeat('x', 200) FROM range(300000) ORDER BY hash(range)
`), "\n"),
}

// sqlSpellings write a path in a string of SQL.
var sqlSpellings = []func(w *world.World, path string) string{
	func(_ *world.World, path string) string { return path },
	func(_ *world.World, path string) string { return path },
	relative,
	func(w *world.World, path string) string { return "sub/../" + relative(w, path) },
	func(_ *world.World, path string) string { return "/proc/self/root" + path },
	func(w *world.World, path string) string { return "/proc/self/cwd/" + relative(w, path) },
	func(_ *world.World, path string) string { return strings.ReplaceAll(path, "/", "//") },
	func(_ *world.World, path string) string { return strings.ReplaceAll(path, "/", "/./") },
	func(_ *world.World, path string) string { return "file://" + path },
	func(w *world.World, path string) string { return "~/" + relative(w, path) },
	func(w *world.World, path string) string {
		if below, is := strings.CutPrefix(path, w.Outside); is {
			return "link-out" + below
		}
		return path
	},
}

// SQL goes to two real engines behind a server. Held by the kernel they show none of what lies outside, and change nothing
// there. The control is the same server free. MCPHUB_LONG_CASES says how many times each statement is tried, each time with
// the path spelt otherwise, until all spellings have been; DuckDB is only tried then.
func TestSQLAtTheConfinedServer(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	if version, err := exec.Command(n.Program, "-p", "process.versions.node.split('.')[0]").Output(); err != nil {
		t.Fatal(err)
	} else if major, _ := strconv.Atoi(strings.TrimSpace(string(version))); major < 24 {
		needs.Missing(t, "Node ", major, " has no SQLite")
	}
	times, whole := world.LongCases(t, 1, len(sqlSpellings)), t // whose cases are the same in each way
	engines := []string{"sqlite"}
	if times > 1 {
		n.Of(t, "engines")
		engines = append(engines, "duckdb")
	}
	server := world.Source("e2e", "engines", "server.mjs")
	came, least := verdicts{}, 0
	for _, how := range ways {
		free := how.free
		t.Run(how.String(), func(t *testing.T) {
			s := newSandboxed(t, how, func(w *world.World) obj { return obj{"command": n.Program, "args": []string{server}} })
			make := exec.Command(n.Program, append([]string{server, "--make", s.w.Outside, world.SecretText}, engines...)...)
			if out, err := make.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			s.outside = state(s.w)
			s.AwaitTool("kid__sql")
			for _, engine := range engines {
				d, count, escaped := seeds.Rand(whole), 0, 0
				for round := range times {
					for _, text := range sqlCases[engine] {
						count++
						args := s.statements(engine, text, sqlSpellings[round%len(sqlSpellings)], d)
						said := s.MustCallArgs("kid__sql", args).Text
						changed := s.changes()
						came.add(how, "reads ", strings.Contains(said, world.SecretText), ", changes ", len(changed))
						if len(changed) > 0 || strings.Contains(said, world.SecretText) {
							escaped++
							if !free {
								t.Errorf("escaped: %v\n%.300s\n%q", args, said, changed)
							}
						} else if free && round == 0 {
							t.Logf("does not lead outside: %v: %.200s", args, said)
						}
						s.restore(changed)
					}
				}
				inside := s.MustCallArgs("kid__sql", obj{"engine": engine, "database": "own." + engine, "statements": []string{"CREATE TABLE IF NOT EXISTS t(a VARCHAR)", "INSERT INTO t VALUES ('kept')", "SELECT * FROM t"}}).Text
				if free {
					least += escaped
				}
				t.Logf("%v: %s: of %d cases %d led outside", how, engine, count, escaped)
				if free && escaped < count/3 || !strings.Contains(inside, "kept") {
					t.Errorf("too few do what they should, so this shows nothing: %s", inside)
				}
			}
		})
	}
	came.judge(t, least)
}

var sqlPlace = regexp.MustCompile(`\{(\w+)\}`)

func (s *sandboxed) statements(engine, text string, spell func(*world.World, string) string, d *rand.Rand) obj {
	dir := s.w.Outside
	if !strings.Contains(text, "{") || strings.Contains(text, "{d}") {
		dir = zone(s.w)[d.IntN(3)]
	}
	text = sqlPlace.ReplaceAllStringFunc(text, func(place string) string {
		switch ending := place[1 : len(place)-1]; ending {
		case "d":
			return spell(s.w, dir)
		case "env":
			return fmt.Sprintf("/proc/%d/environ", s.PID())
		default:
			return spell(s.w, filepath.Join(s.w.Outside, "secret."+ending))
		}
	})
	args := obj{"engine": engine}
	lines := strings.Split(text, ";; ")
	if database, is := strings.CutPrefix(lines[0], "database="); is {
		args["database"], lines = database, lines[1:]
	}
	args["statements"] = lines
	return args
}
