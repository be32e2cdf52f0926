package files

import (
	stdjson "encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// A tool is one entry of tools/list and what runs behind it.
type tool struct {
	name, title, about string
	runner
	out      string // properties of what it returns; "" if that is plain content
	changes  bool   // it changes files
	destroys bool   // it may overwrite or move away what was there
	repeats  bool   // a second call with the same arguments changes nothing more
}

type (
	pathArgs struct {
		Path *string `json:"path" description:"Absolute, or relative to the first allowed directory"`
	}
	readArgs struct {
		pathArgs
		Head float64 `json:"head,omitzero" description:"Only the first N lines"`
		Tail float64 `json:"tail,omitzero" description:"Only the last N lines"`
	}
	manyArgs struct {
		Paths []string `json:"paths" minItems:"1" description:"Paths as for read_text_file"`
	}
	writeArgs struct {
		pathArgs
		Content *string `json:"content"`
	}
	editArgs struct {
		pathArgs
		Edits  []edit `json:"edits" minItems:"1"`
		DryRun bool   `json:"dryRun,omitzero" default:"false" description:"Only show the diff"`
	}
	edit struct {
		Old *string `json:"oldText" description:"Must match exactly, line ends aside"`
		New *string `json:"newText"`
	}
	sizesArgs struct {
		pathArgs
		SortBy *string `json:"sortBy,omitzero" enum:"name,size" default:"\"name\""`
	}
	excludeArgs struct {
		Exclude []string `json:"excludePatterns,omitzero" default:"[]" description:"Globs relative to path; one without a slash matches a name at any depth. What matches is left out with all below it"`
	}
	treeArgs struct {
		pathArgs
		excludeArgs
	}
	searchArgs struct {
		pathArgs
		Pattern *string `json:"pattern" description:"Glob, relative to path"`
		excludeArgs
	}
	moveArgs struct {
		Source      *string `json:"source"`
		Destination *string `json:"destination" description:"The new path itself, not the folder to move into"`
	}
)

const (
	entriesOut = `"path":{"type":"string"},"entries":{"type":"array","items":{"type":"object","properties":{` +
		`"name":{"type":"string"},"type":{"enum":["file","directory","link","other"]},"size":{"type":"integer"}},"required":["name","type"]}},` +
		`"truncated":{"type":"boolean"}`
)

var tools = []tool{
	{name: "read_file", title: "Read a text file (old name)", runner: takingArgs(readText),
		about: "The former name of read_text_file, with the same arguments."},
	{name: "read_text_file", title: "Read a text file", runner: takingArgs(readText),
		about: "Returns a file as UTF-8 text: all of it, its first lines (head) or its last lines (tail). Bytes that are not UTF-8 are shown as U+FFFD, with a note."},
	{name: "read_media_file", title: "Read an image, a sound or other binary file", runner: takingArgs(readMedia),
		about: "Returns a file as base64 with its MIME type: images and audio as such, anything else as an embedded resource."},
	{name: "read_multiple_files", title: "Read several text files", runner: takingArgs(readMany),
		about: "Returns several text files, each in a content block of its own that starts with its path. A file that cannot be read gives its error there and does not stop the others."},
	{name: "write_file", title: "Write a file", runner: takingArgs(writeFile), changes: true, destroys: true, repeats: true,
		about: "Makes a file, or replaces all of its content, in one step: a reader sees the old content or the new, never a part. The folder must exist.",
		out:   `"path":{"type":"string"},"bytes":{"type":"integer"},"created":{"type":"boolean"}`},
	{name: "edit_file", title: "Edit a text file", runner: takingArgs(editFile), changes: true, destroys: true,
		about: "Replaces pieces of a text file, one edit after the other, and returns a unified diff. Each oldText must occur exactly once at its turn, so give enough of the surrounding lines. All edits are made or none. With dryRun nothing is written.",
		out:   `"path":{"type":"string"},"changed":{"type":"boolean"},"dryRun":{"type":"boolean"},"diff":{"type":"string"}`},
	{name: "create_directory", title: "Make a directory", runner: takingArgs(makeDirectory), changes: true, repeats: true,
		about: "Makes a directory and those above it that are missing. One that exists already is fine.",
		out:   `"path":{"type":"string"},"created":{"type":"boolean"}`},
	{name: "list_directory", title: "List a directory", runner: takingArgs(listDirectory),
		about: "Lists what a directory holds, each line marked [FILE], [DIR], [LINK] or [OTHER].",
		out:   entriesOut},
	{name: "list_directory_with_sizes", title: "List a directory with sizes", runner: takingArgs(listSizes),
		about: "Lists what a directory holds with the size of each file and the sum of all.",
		out:   entriesOut + `,"files":{"type":"integer"},"directories":{"type":"integer"},"totalSize":{"type":"integer"}`},
	{name: "directory_tree", title: "Show a directory tree", runner: takingArgs(directoryTree),
		about: "Returns everything below a directory as JSON: name, type, and children for directories. Links are shown, not followed. A large tree is cut, and says so.",
		out:   `"path":{"type":"string"},"tree":{"type":"array","items":{"type":"object"}},"truncated":{"type":"boolean"}`},
	{name: "move_file", title: "Move or rename", runner: takingArgs(moveFile), changes: true, destroys: true,
		about: "Moves or renames a file or directory. The destination must not exist. Between two allowed directories, or two disks, only files can be moved.",
		out:   `"source":{"type":"string"},"destination":{"type":"string"}`},
	{name: "search_files", title: "Find files by name", runner: takingArgs(searchFiles),
		about: "Finds files and directories below path whose path matches a glob: *.go for names right there, **/*.go at any depth, {a,b} for alternatives. Links are found, not followed. It does not look into files.",
		out:   `"matches":{"type":"array","items":{"type":"string"}},"truncated":{"type":"boolean"}`},
	{name: "get_file_info", title: "Describe a file", runner: takingArgs(fileInfo),
		about: "Tells size, kind, time of change and permissions of a file or directory, and where it really is if links lead to it.",
		out: `"path":{"type":"string"},"type":{"enum":["file","directory","link","other"]},"size":{"type":"integer"},"modified":{"type":"string"},"permissions":{"type":"string"},` +
			`"isDirectory":{"type":"boolean"},"isFile":{"type":"boolean"},"isLink":{"type":"boolean"}`},
	{name: "list_allowed_directories", title: "List the allowed directories", runner: takingArgs(listAllowed),
		about: "Tells which directories may be used. Everything below them is allowed too.",
		out: `"directories":{"type":"array","items":{"type":"string"}},` +
			`"skipped":{"type":"array","items":{"type":"object","properties":{"root":{"type":"string"},"reason":{"type":"string"}}}}`},
}

// toolDefinition returns the entry of tools/list.
func (t tool) toolDefinition() mcp.Tool {
	def := mcp.Tool{
		Name: t.name, Title: t.title, Description: t.about,
		RawInputSchema: schemaOf(t.args, ""),
		Annotations: mcp.ToolAnnotation{
			Title: t.title, ReadOnlyHint: new(!t.changes), OpenWorldHint: new(false),
		},
	}
	if t.changes {
		def.Annotations.DestructiveHint = new(t.destroys)
		def.Annotations.IdempotentHint = new(t.repeats)
	}
	if t.out != "" {
		def.RawOutputSchema = stdjson.RawMessage(`{"type":"object","properties":{` + t.out + `}}`)
	}
	return def
}
