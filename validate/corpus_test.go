package validate

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/rootsmgr/platform"
	"mcphub/validate/machine"
	"mcphub/validate/policy"
)

// carriers are texts of many languages that name a file: $P stands for it. Each is an attack where $P is outside, and
// everyday where it is inside. Before the text stands the key that it is sent under.
var carriers = map[string][]string{
	"query": {
		// DuckDB
		"SELECT * FROM '$P'", "FROM read_csv('$P')", "SELECT * FROM read_text('$P')", "SELECT content FROM read_blob(\"$P\")", "SELECT * FROM read_parquet(['a.parquet', '$P'])",
		"COPY t TO '$P'", "COPY (SELECT 1) TO '$P' (FORMAT csv)", "COPY t FROM '$P'", "ATTACH '$P' AS d", "EXPORT DATABASE '$P'", "IMPORT DATABASE '$P'", "LOAD '$P'", "INSTALL '$P'",
		"RESET x; SELECT * FROM read_text('$P')", "FORCE CHECKPOINT; SELECT * FROM '$P'", "UNKNOWN y; COPY t TO '$P'", "SUMMARIZE '$P'", "DESCRIBE TABLE '$P'", "PIVOT '$P' ON x", "CALL f(x => '$P')",
		"WITH a AS (FROM '$P') SELECT * FROM a", "VALUES ((SELECT content FROM read_text('$P')))", "SELECT * FROM glob('$P')", "SELECT * FROM read_text($$$P$$)", "SELECT * FROM read_text($x$$P$x$)",
		"/* a */ -- b\nSELECT * FROM '$P'", "SELECT 1;;;\nSELECT 2; FROM '$P'", "SET file_search_path='$P'", "SELECT * FROM `$P`", "SELECT 'it''s', * FROM '$P'", "SELECT 'a' || content FROM read_text('$P') -- it's",
		// SQLite
		"ATTACH $P", "ATTACH \"$P\" AS x", "VACUUM INTO '$P'", "SELECT readfile('$P')", "SELECT writefile('$P', 'x')", ".read $P", ".import $P t", ".import --csv $P t", ".open $P", ".output $P",
		".once -x $P", ".backup main $P", ".restore $P", ".save $P", ".load $P", ".shell cat $P", ".system cat $P | head", ".log $P", "SELECT load_extension('$P')", "  .read $P",
		// PostgreSQL
		"SELECT pg_read_file('$P')", "SELECT pg_read_binary_file($q$$P$q$)", "SELECT lo_import('$P')", "SELECT lo_export(1, '$P')", "COPY t TO PROGRAM 'cat $P'", "COPY t FROM PROGRAM 'base64 $P | cat'",
		"\\copy t from $P", "\\copy t from $P csv header", "\\copy t from '$P' csv", "\\copy (select 1) to $P", "\\i $P", "\\ir $P", "\\o $P", "\\g $P", "\\w $P", "\\lo_import $P", "\\! cat $P", "\\include $P",
		"CREATE FOREIGN TABLE f (a text) SERVER s OPTIONS (filename '$P')", "CREATE TABLESPACE x LOCATION '$P'", "DO $$ BEGIN PERFORM pg_read_file('$P'); END $$", "SELECT pg_ls_dir('$P')", "SELECT E'a\\n', pg_read_file('$P')",
		// MySQL and MariaDB
		"LOAD DATA INFILE '$P' INTO TABLE t", "LOAD DATA LOCAL INFILE \"$P\" INTO TABLE t", "SELECT LOAD_FILE('$P')", "SELECT 1 INTO OUTFILE '$P'", "SELECT 1 INTO DUMPFILE '$P'", "source $P", "\\. $P", "tee $P",
		"LOAD XML INFILE '$P' INTO TABLE t", "CREATE TABLE t (a int) DATA DIRECTORY='$P'", "/*!50000 SELECT LOAD_FILE('$P') */",
		// others
		"BULK INSERT t FROM '$P'", "SELECT * FROM OPENROWSET(BULK N'$P', SINGLE_CLOB) x", "BACKUP DATABASE x TO DISK='$P'", "RESTORE DATABASE x FROM DISK=N'$P'", "EXEC xp_cmdshell 'type $P'", "SELECT * FROM file('$P', CSV)",
		"INSERT INTO t FROM INFILE '$P' FORMAT CSV", "SELECT 1 INTO OUTFILE '$P' FORMAT CSV", "SELECT * FROM csv.`$P`", "@$P", "@@$P", "START $P", "SPOOL $P", "UTL_FILE.FOPEN('$P', 'x', 'r')", "EXPORT TO '$P' OF DEL SELECT 1",
		// Cypher, SPARQL
		"LOAD CSV FROM '$P' AS r RETURN r", "LOAD CSV WITH HEADERS FROM \"$P\" AS r RETURN r", "CALL apoc.load.json('$P')", "CALL apoc.export.csv.all('$P', {})", "COPY Person FROM \"$P\" (header=true)", "USING PERIODIC COMMIT 5 LOAD CSV FROM '$P' AS r",
	},
	"expression": {
		"doc('$P')//a", "unparsed-text(\"$P\")", "fn:collection('$P')", "file:read-text('$P')", "include \"$P\"; .a", "import \"$P\" as x; x::f", "input_filename | @sh \"cat $P\"", "load('$P')", "new File('$P').text",
		"readFileSync(`$P`)", "__import__('os').listdir('$P')", "T(java.nio.file.Files).readString('$P')", "File.Contents(\"$P\")", "file(\"$P\")", "open($P)", "read[$P]",
	},
	"config": {
		// YAML
		"path: $P", "path: $P\nother: 1\n", "- $P", "files:\n  - $P\n  - a\n", "a:\n  b: '$P'", "a: \"$P\"", "!include $P", "x: !include $P", "{path: $P, x: 1}", "[a, b, c, d, $P]", "path: $P # a comment with words",
		"key: !!str $P", "volumes:\n- hostPath: {path: $P}\n", "- name: x\n  src: $P\n", "- src: $P", "path: >-\n  $P\n", "path: |\n  $P\n", "a: &x $P", "? $P\n: x", "---\nversion: 3\nservices:\n  web:\n    env_file: $P\n",
		// TOML, INI, properties, environment
		"path = \"$P\"", "path = '$P'", "[a]\npath = \"\"\"$P\"\"\"", "path=$P\nx=1", "p = [\"a\", \"$P\"]", "p = {path = \"$P\"}", "[x]\nfile = $P", "file: $P\nx: y", "[x]\nfile = $P ; comment", "A=1\nB=$P\nC=\"x y\"", "export B=\"$P\"",
		// JSON5 and what programs write
		"{path: '$P'}", "{'path': '$P',}", "{\"path\": \"$P\"} // why", "[{a:1},{p:'$P'}]", "({path: \"$P\"})", "export default { p: '$P' }", "module.exports = {p: `$P`, q: [1, 2]}",
		// others
		"source = \"$P\"\nmode = \"0644\"", "server {\n  include $P;\n}", "include $P", "import $P", "Include \"$P\"", "apply from: '$P'", "dofile(\"$P\")", "source(\"$P\")", "!include $P\nA -> B", "load '$P'; plot 'x'", "image=\"$P\" shape=box",
		"input($P)", "resources: [\"a.yaml\", \"$P\"]", "variables:\n  X: \"$P\"\n", "<file>$P</file>", "<add key='x' value='$P'/>",
	},
	"tmpl": {
		"{% include '$P' %}", "{% include $P %}", "{{ include \"$P\" }}", "{{> $P }}", "<%- include('$P') %>", "<#include \"$P\">", "{{#include $P}}", "<!--#include file=\"$P\" -->", "@import \"$P\";", "#include \"$P\"", "#include <$P>",
		"${file('$P')}", "{{ readFile \"$P\" }}", "\\input{$P}", "{% extends \"$P\" %}", "<xi:include href=\"$P\"/>", "<!DOCTYPE a [<!ENTITY x SYSTEM \"$P\">]>", "<xsl:include href='$P'/>", "<img src=\"$P\">", "<img src=$P>", "![alt]($P)",
		"[x]: $P", ".. include:: $P", "include::$P[]", "#+INCLUDE: \"$P\"", "url('$P')", "<image xlink:href=\"$P\"/>", "movie=$P,scale=1:1", "subtitles='$P'", "text:@$P", "consult('$P').", "getline x < \"$P\"", "{{ \"$P\" | read }}",
	},
}

// spellings are what may stand for $P: attack, and the control that names a file inside in the same way.
var spellings = []struct{ name, attack, control string }{
	{"absolute", "{outside}/secret.txt", "{project}/src/main.go"},
	{"climbing", "../outside/secret.txt", "./src/main.go"},
	{"link", "link/secret.txt", "inner/main.go"},
}

// TestAPathIsFoundInATextOfAnyLanguage: a path is found in a text of any language, and the same text with a path inside passes.
func TestAPathIsFoundInATextOfAnyLanguage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	attacks, missed := 0, 0
	for key, list := range carriers {
		for _, text := range list {
			for _, s := range spellings {
				attacks++
				call := func(p string) string {
					return `{"` + key + `":` + string(quoteJSON(strings.ReplaceAll(text, "$P", w.fill(p)))) + `}`
				}
				if _, v := w.call(c, tool, call(s.attack)); v.Decision != policy.Deny {
					missed++
					t.Errorf("%s under %s passes: %s", s.name, key, text)
				}
				if _, v := w.call(c, tool, call(s.control)); v.Decision != policy.Allow {
					t.Errorf("%s under %s inside is refused: %s: %q %s", s.name, key, text, v.Deciding.Value, v.Deciding.How)
				}
			}
		}
	}
	t.Logf("%d attacks, %d missed", attacks, missed)
	if attacks < 300 {
		t.Errorf("only %d attacks", attacks)
	}
}

// TestCarriersBehind: what stands before a word does not hide it, however much of it there is.
func TestCarriersBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	const tail = "SELECT * FROM read_text('$P')"
	var dollars strings.Builder
	for i := range 400 {
		fmt.Fprintf(&dollars, "SELECT $t%d$x$t%d$; ", i, i)
	}
	for _, head := range map[string]string{
		"comments": strings.Repeat("-- it's a comment\n", 200), "block comments": strings.Repeat("/* x */", 200), "dollar quotes": dollars.String(), "empty dollar quotes": strings.Repeat("$$x$$ ", 300),
		"an unknown statement": "RESET x; ", "blanks": strings.Repeat(" \n", 5000), "parentheses": strings.Repeat("(", 500), "semicolons": strings.Repeat(";", 500), "prose": strings.Repeat("what is 'this' ", 500), "an open quote": "SELECT 'it; ",
		"an open bracket": "SELECT [a; ", "a BOM": "\ufeff", "NUL": "a\x00", "a URL": "https://example.com/ ", "an odd quote": "don't \" ` ", "JSON": `{"a": 1} `, "a long word": strings.Repeat("x", 100_000) + " ",
	} {
		call := func(p string) string {
			return `{"query":` + string(quoteJSON(head+strings.ReplaceAll(tail, "$P", w.fill(p)))) + `}`
		}
		judgeAll(t, w, c, tool, policy.Deny, call("{outside}/secret.txt"))
		judgeAll(t, w, c, tool, policy.Allow, call("{project}/src/main.go"))
	}
	// Escapes are read as well as the text.
	hex := func(s string) string {
		var b strings.Builder
		for _, c := range []byte(w.fill(s)) {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		return b.String()
	}
	uni := func(s string) string { return strings.ReplaceAll(w.fill(s), "/", `\u002f`) }
	oct := func(s string) string { return strings.ReplaceAll(w.fill(s), "/", `\057`) }
	for _, escape := range []func(string) string{hex, uni, oct, func(s string) string { return strings.ReplaceAll(w.fill(s), "/", `\u{2f}`) }, func(s string) string { return strings.ReplaceAll(w.fill(s), "/", `\/`) }, func(s string) string { return "file://" + w.fill(s) }} {
		for _, quote := range []string{"'", `"`} {
			for key, before := range map[string]string{"query": "SELECT E", "config": "path: ", "tmpl": "{{ include "} {
				call := func(p string) string {
					return `{"` + key + `":` + string(quoteJSON(before+quote+escape(p)+quote)) + `}`
				}
				judgeAll(t, w, c, tool, policy.Deny, call("{outside}/secret.txt"))
				judgeAll(t, w, c, tool, policy.Allow, call("{project}/src/main.go"))
			}
		}
	}
}

// TestWhatNamesSomething: a word counts if it names something outside, or could make it, and not otherwise.
func TestWhatNamesSomething(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	judgeAll(t, w, c, tool, policy.Deny, `{"query":"COPY t TO '{outside}/new.csv'"}`, `{"query":"COPY t TO '~/new.csv'"}`, `{"query":"FROM '{outside}/*.txt'"}`, `{"query":"FROM '{outside}/s[e]cret.txt'"}`,
		`{"query":"FROM '{outside}/{a,secret}.txt'"}`, `{"query":"FROM '$HOME/outside/secret.txt'"}`, `{"query":"{outside}/secret.txt"}`, `{"config":"p: {home}/My"}`)
	w.must(os.MkdirAll(w.outside+"/My Files", 0o755))
	w.must(os.WriteFile(w.outside+"/My Files/x y.txt", nil, 0o644))
	judgeAll(t, w, c, tool, policy.Deny, `{"query":"FROM '{outside}/My Files/x y.txt'"}`, `{"config":"path: {outside}/My Files/x y.txt\n"}`, `{"config":"- {outside}/My Files/x y.txt # c"}`, `{"config":"path = {outside}/My Files/x y.txt"}`)
	judgeAll(t, w, c, tool, policy.Allow, `{"query":"COPY t TO '{outside}/no/such/new.csv'"}`, `{"query":"FROM '/nowhere/x.csv'"}`, `{"query":"FROM '{outside}/*.nothing'"}`, `{"query":"WHERE p = '/etc'"}`, `{"query":"WHERE p LIKE '/home/%'"}`,
		`{"query":"WHERE p = '/usr/bin/env'"}`, `{"query":"WHERE p = '/bin/sh'"}`, `{"query":"WHERE p = '/dev/null'"}`, `{"query":"a/b*c"}`, `{"query":"x = '2024/01/02'"}`, `{"config":"see the file {outside}/secret.txt for more"}`)
}

// TestHonestValues: what the values of honest.json would do is no harm. Those marked debatable name a place outside.
func TestHonestValues(t *testing.T) {
	t.Parallel()
	list := honestValues(t)
	w := newWorld(t)
	c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "some-server"}}, FS: everydayDisk{w.home}, Home: w.home, Getenv: w.getenv})
	w.must(err)
	tool := w.tool(c, "", anyTool)
	rootsView := w.view()
	refused := 0
	for _, e := range list {
		args := strings.ReplaceAll(string(e.Args), "{R}", w.project)
		s, err := c.Scan(tool, []byte(args))
		w.must(err)
		v := c.Judge(s, w.where(), rootsView)
		if v.Decision != policy.Allow {
			refused++
		}
		if want := e.Debatable == ""; (v.Decision == policy.Allow) != want {
			t.Errorf("%s %s: %v, want allowed: %v; %+v", e.Kind, strings.Join(strings.Fields(args), " "), v.Decision, want, v.Deciding)
		}
	}
	t.Logf("%d of %d honest values are refused", refused, len(list))
	if len(list) < 300 || refused > len(list)/5 {
		t.Errorf("%d of %d are refused", refused, len(list))
	}
}

// honestValue is an entry of honest.json.
type honestValue struct {
	Kind      string
	Args      json.RawMessage
	Debatable string // why it is refused
}

func honestValues(t *testing.T) (list []honestValue) {
	raw, err := os.ReadFile("testdata/honest.json")
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// everydayDisk is the disk of an ordinary user on an everyday Linux, the world of a test included: the same on every
// machine that runs the test.
type everydayDisk struct{ home string }

var everydayNames = strings.Fields(`/ /etc/ /etc/hosts /etc/passwd /etc/nginx/ /etc/nginx/nginx.conf /etc/localtime /etc/ld.so.cache /etc/config/ /home/ /home/user/ /root/ /opt/ /mnt/ /media/ /srv/ /tmp/ /var/ /var/log/ /var/log/syslog /var/log/nginx/
	/var/lib/ /var/run/ /var/www/ /var/www/html/ /usr/ /usr/bin/ /usr/bin/env /usr/bin/python3 /usr/bin/node /usr/sbin/ /usr/sbin/nologin /usr/share/ /usr/local/ /usr/local/bin/ /usr/lib/ /usr/src/ /bin/ /bin/sh /bin/bash /bin/zsh /dev/ /dev/null /dev/zero /dev/random /dev/urandom
	/dev/sda1 /dev/kvm /dev/mem /dev/shm/ /dev/shm/psm_4f2a /dev/pts/ /dev/pts/3`)

type everydayFile struct {
	fs.FileInfo
	name string
	dir  bool
}

func (f everydayFile) Name() string       { return path.Base(f.name) }
func (f everydayFile) IsDir() bool        { return f.dir }
func (f everydayFile) ModTime() time.Time { return time.Time{} }
func (f everydayFile) Size() int64        { return 0 }
func (f everydayFile) Sys() any           { return nil }
func (f everydayFile) Mode() fs.FileMode {
	if f.dir {
		return fs.ModeDir | 0o755
	}
	return 0o755
}

func (d everydayDisk) Lstat(name string) (fs.FileInfo, error) {
	if _, ok := machine.Below(d.home, name); ok {
		return os.Lstat(name)
	}
	if _, ok := machine.Below(name, d.home); ok {
		return everydayFile{name: name, dir: true}, nil
	}
	if slices.Contains(everydayNames, name) {
		return everydayFile{name: name}, nil
	}
	if slices.Contains(everydayNames, strings.TrimSuffix(name, "/")+"/") {
		return everydayFile{name: name, dir: true}, nil
	}
	return nil, fs.ErrNotExist
}

func (d everydayDisk) Readlink(name string) (string, error) { return os.Readlink(name) }
func (d everydayDisk) Writable(dir string) bool {
	_, ok := machine.Below(d.home, dir)
	return ok || dir == "/tmp"
}
func (d everydayDisk) Platform() platform.Platform { return platform.Linux }
func (d everydayDisk) SameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b)
}

func (d everydayDisk) ReadDir(name string) ([]fs.DirEntry, error) {
	if _, ok := machine.Below(d.home, name); ok {
		return os.ReadDir(name)
	}
	var list []fs.DirEntry
	for _, n := range everydayNames {
		if n != "/" && path.Dir(strings.TrimSuffix(n, "/")) == path.Clean(name) {
			list = append(list, fs.FileInfoToDirEntry(everydayFile{name: strings.TrimSuffix(n, "/"), dir: strings.HasSuffix(n, "/")}))
		}
	}
	return list, nil
}
