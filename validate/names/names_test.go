package names

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcphub/validate/access"
)

func TestClassOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]Class{
		"path": Path, "Path": Path, "PATH": Path, "filePath": Path, "file_path": Path, "file-path": Path, "filepaths": Path,
		"logfile": Path, "outdir": Path, "fileAbsolutePath": Path, "XMLPath": Path, "path2": Path, "projectRoot": Path,
		"workingDirectory": Path, "cwd": Path, "destination": Path, "srcSheetName": Path, "files": Path, "folderName": Path,
		"source": Source, "image_src": Source, "cell_source": Source, "ſource": Source, "PATH_LIST": Path, "input.file.path": Path,
		"profile": Other, "profiles": Other, "direction": Other, "resource": Other, "resources": Other, "fileKey": Other,
		"root_cause": Other, "fileId": Other, "oldest": Other, "fileType": Other, "filePattern": Other, "sourceUrl": Other,
		"": Other, "123": Other, "x": Other, "target": Other, "filenameSuffix": Other, "topFilesLength": Other,
		"file_text": Content, "file_content": Content, "fileContents": Content, "content": Content, "oldText": Content, "newText": Content,
		"commit_message": Content, "observations": Content, "thought": Content, "xpath": Content, "old_string": Content, "sourceCode": Content,
		"query": Query, "sqlQuery": Query, "command": Shell, "shell_command": Shell, "cmd": Shell, "script": Shell, "initScript": Shell,
		"sql": Query, "args": Words, "argv": Words, "extra_flags": Words, "scriptPath": Path, "sql_file": Path, "commandFile": Path,
	} {
		if got := ClassOf(key); got != want {
			t.Errorf("%q: class %d, want %d", key, got, want)
		}
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		tool                  string
		readOnly, destructive bool
		key                   string
		want                  access.Role
	}{
		{"read_file", false, false, "path", access.Read},
		{"getFileInfo", false, false, "path", access.Read},
		{"frobnicate", false, false, "path", access.Write},
		{"frobnicate", true, false, "path", access.Read},
		{"frobnicate", true, true, "path", access.Write},
		{"frobnicate", true, false, "outputPath", access.Write},
		{"delete_file", true, false, "path", access.Delete},
		{"find_and_replace", true, false, "path", access.Write},
		{"move_file", false, false, "source", access.Delete},
		{"move_file", false, false, "destination", access.Write},
		{"rename", false, false, "from", access.Delete},
		{"rename", false, false, "to", access.Write},
		{"copy_file", false, false, "source", access.Read},
		{"copy_file", false, false, "destination", access.Write},
	} {
		var b Buffer
		if got := TraitsOf(e.tool, e.readOnly, e.destructive).RoleOf(&b, e.key); got != e.want {
			t.Errorf("%s %v %v %s: %v, want %v", e.tool, e.readOnly, e.destructive, e.key, got, e.want)
		}
	}
}

// TestListsAreGenerated: every key that the code reads is in docs/findings.md.
func TestListsAreGenerated(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "findings.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, set := range []map[string]bool{ContentWords, CodeWords, MatchWords, QueryWords, ReplacedWords, NewWords, EditWords, CellWords, PatchWords, ProgramKeys, StopWords, ShellWords, VectorWords, StreamWords} {
		for w := range set {
			if !regexp.MustCompile("[` ]" + w + "[,`]").MatchString(text) {
				t.Errorf("docs/findings.md does not list %q", w)
			}
		}
	}
	threats, err := os.ReadFile(filepath.Join("..", "..", "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(threats), "content keys") || !strings.Contains(string(threats), "findings.md") {
		t.Error("docs/threat-model.md does not name the exemption of content keys")
	}
	for _, class := range lastWords() {
		if !slices.Contains([]Class{Other, Content, Query, Shell, Words, Edit, Typed}, class) {
			t.Errorf("class %d has no list", class)
		}
	}
}
