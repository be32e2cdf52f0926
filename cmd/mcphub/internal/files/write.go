package files

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/diff"

	"mcphub/internal/printable"
)

// tempPrefix begins the name of a file that is being written. One that is left
// behind, when the process is killed while writing, may be removed.
const tempPrefix = ".mcphub-"

func writeFile(c *call, args writeArgs) (*mcp.CallToolResult, error) {
	path, content := *args.Path, *args.Content
	p, err := c.resolvePath(path, true)
	if err == nil && p.info != nil {
		err = checkRegular(p.info)
	}
	if err == nil {
		err = c.replaceFile(p, strings.NewReader(content), p.info)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("its folder does not exist: make it with create_directory")
	}
	if err != nil {
		return nil, failedError("write", path, err)
	}
	return mcp.NewToolResultStructured(map[string]any{"path": p.placePath(), "bytes": len(content), "created": p.info == nil},
		fmt.Sprintf("Wrote %d bytes to %s", len(content), showName(p.placePath()))), nil
}

// replaceFile puts content at p in one step: it is written beside it and renamed.
// Mode and, where allowed, owner of old are kept; old is nil for a new file.
// A hard link to old keeps the old content.
func (c *call) replaceFile(p place, content io.Reader, old fs.FileInfo) error {
	dir, name, err := p.openParent()
	if err != nil {
		return err
	}
	defer dir.Close()
	if old != nil {
		// Renaming over a file asks its folder only. Whether the file itself may
		// be written is asked here.
		f, err := dir.OpenFile(name, os.O_WRONLY|openFlags, 0)
		if errors.Is(err, fs.ErrPermission) {
			return err
		}
		if err == nil {
			f.Close()
		}
	}
	temp, err := c.writeTemp(dir, content, old)
	if err != nil {
		return err
	}
	if err := dir.Rename(temp, name); err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}

// writeTemp writes content to a new file in dir and returns its name.
func (c *call) writeTemp(dir *os.Root, content io.Reader, old fs.FileInfo) (name string, err error) {
	var id [8]byte
	rand.Read(id[:]) // never fails
	name = tempPrefix + hex.EncodeToString(id[:]) + ".tmp"
	mode := fs.FileMode(0o666) // less the umask
	if old != nil {
		mode = 0o600
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, reader{c, content})
	if err == nil && old != nil {
		sameOwner(f, old)
		err = f.Chmod(old.Mode().Perm())
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", errors.Join(err, dir.Remove(name))
	}
	return name, nil
}

// reader ends when the call is cancelled.
type reader struct {
	c *call
	r io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.c.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func editFile(c *call, args editArgs) (*mcp.CallToolResult, error) {
	path := *args.Path
	f, info, p, err := c.openFile(path)
	if err != nil {
		return nil, failedError("edit", path, err)
	}
	before, err := readWhole(f, info)
	f.Close()
	if err != nil {
		return nil, failedError("edit", path, err)
	}
	after := before
	for i, e := range args.Edits {
		if after, err = e.applyTo(after); err != nil {
			return nil, failedError("edit", path, fmt.Errorf("edits[%d]: %w; nothing was written", i, err))
		}
	}
	changed := !bytes.Equal(before, after)
	if changed && !args.DryRun {
		if err := c.checkUnchanged(p, info); err != nil {
			return nil, failedError("edit", path, err)
		}
		if err := c.replaceFile(p, bytes.NewReader(after), info); err != nil {
			return nil, failedError("edit", path, err)
		}
	}
	name := filepath.ToSlash(p.rel)
	text, _ := asText(diff.Diff("a/"+name, before, "b/"+name, after))
	shownText := text
	if !changed {
		shownText = "Nothing changes: the new text is the old one."
	}
	return mcp.NewToolResultStructured(map[string]any{
		"path": p.placePath(), "changed": changed, "dryRun": args.DryRun, "diff": text,
	}, shownText), nil
}

// applyTo makes one edit. If the file ends its lines with CRLF, texts that were
// written with LF are tried with CRLF.
func (e edit) applyTo(data []byte) ([]byte, error) {
	if e.Old == nil || e.New == nil {
		return nil, errors.New("oldText and newText are both needed")
	}
	before, after := []byte(*e.Old), []byte(*e.New)
	if len(before) == 0 {
		return nil, errors.New("oldText is empty: give the text to replace, or use write_file")
	}
	n := bytes.Count(data, before)
	if n == 0 && bytes.Contains(data, []byte("\r\n")) {
		before, after = toCRLF(before), toCRLF(after)
		n = bytes.Count(data, before)
	}
	switch {
	case n == 0:
		return nil, fmt.Errorf("oldText was not found: %q; read the file again and copy the text exactly", printable.Clip(*e.Old, 80))
	case n > 1:
		return nil, fmt.Errorf("oldText occurs %d times: %q; give more of the surrounding lines", n, printable.Clip(*e.Old, 80))
	case len(data)-len(before)+len(after) > maxFile:
		return nil, fmt.Errorf("the file would have more than %d bytes", maxFile)
	}
	return bytes.Replace(data, before, after, 1), nil
}

func toCRLF(b []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

// checkUnchanged fails when the file at p is no longer the one that was read.
func (c *call) checkUnchanged(p place, read fs.FileInfo) error {
	now, err := p.root.Lstat(p.rel)
	if err != nil {
		return err
	}
	if !os.SameFile(now, read) || now.Size() != read.Size() || !now.ModTime().Equal(read.ModTime()) {
		return errors.New("it was changed by somebody else meanwhile: read it again")
	}
	return nil
}

func makeDirectory(c *call, args pathArgs) (*mcp.CallToolResult, error) {
	path := *args.Path
	p, err := c.resolvePath(path, true)
	if err == nil && p.info != nil && !p.info.IsDir() {
		err = errors.New("a file is in the way")
	}
	if err == nil && p.info == nil {
		err = p.root.MkdirAll(p.rel, 0o777)
	}
	if err != nil {
		return nil, failedError("make the directory", path, err)
	}
	text := "Made the directory "
	if p.info != nil {
		text = "The directory exists already: "
	}
	return mcp.NewToolResultStructured(map[string]any{"path": p.placePath(), "created": p.info == nil}, text+showName(p.placePath())), nil
}

func moveFile(c *call, args moveArgs) (*mcp.CallToolResult, error) {
	source, destination := *args.Source, *args.Destination
	// A link as the last component is what is moved, not what it leads to.
	from, err := c.resolvePath(source, false)
	if err == nil && from.info == nil {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = c.checkMovable(from)
	}
	if err != nil {
		return nil, failedError("move", source, err)
	}
	to, err := c.resolvePath(destination, false)
	if err == nil && to.info != nil && !isRecased(from, to) {
		err = errors.New("something is there already: choose another name")
	}
	if err == nil {
		err = c.moveFile(from, to)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("its folder does not exist: make it with create_directory")
	}
	if err != nil {
		return nil, failedError("move "+fmt.Sprintf("%q", source)+" to", destination, err)
	}
	return mcp.NewToolResultStructured(map[string]any{"source": from.placePath(), "destination": to.placePath()},
		fmt.Sprintf("Moved %s to %s", showName(from.placePath()), showName(to.placePath()))), nil
}

// isRecased reports whether to is from itself with other letter case, which a file
// system that folds case finds there already.
func isRecased(from, to place) bool {
	return from.placePath() != to.placePath() && strings.EqualFold(from.placePath(), to.placePath()) && os.SameFile(from.info, to.info)
}

// checkMovable refuses what would take an allowed directory away.
func (c *call) checkMovable(p place) error {
	for _, d := range c.bounds.dirs {
		if _, ok := pathBelow(d.real, p.placePath()); ok {
			return fmt.Errorf("the allowed directory %q is there", d.real)
		}
	}
	return nil
}

func (c *call) moveFile(from, to place) error {
	if from.root == to.root {
		err := from.root.Rename(from.rel, to.rel)
		if !errors.Is(err, syscall.EXDEV) {
			return err
		}
	}
	if !from.info.Mode().IsRegular() {
		return errors.New("only a file can be moved between two allowed directories or two disks: move the files one by one")
	}
	f, info, err := from.openFile()
	if err != nil {
		return err
	}
	defer f.Close()
	dir, name, err := to.openParent()
	if err != nil {
		return err
	}
	defer dir.Close()
	temp, err := c.writeTemp(dir, f, info)
	if err == nil {
		err = dir.Chtimes(temp, time.Time{}, info.ModTime())
	}
	if err == nil {
		err = c.checkUnchanged(from, info)
	}
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		if temp != "" {
			err = errors.Join(err, dir.Remove(temp))
		}
		return err
	}
	f.Close() // Windows removes no open file
	if err := from.root.Remove(from.rel); err != nil {
		return fmt.Errorf("it was copied, but the source cannot be removed: %s", errorReason(err))
	}
	return nil
}
