package files

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/printable"
	"mcphub/rootsmgr/platform"
)

const (
	maxFile  = 32 << 20 // bytes of a file that is read as a whole, and of all text in one answer
	tailStep = 64 << 10
)

// openFile opens the regular file that arg leads to.
func (c *call) openFile(arg string) (*os.File, fs.FileInfo, place, error) {
	p, err := c.resolvePath(arg, true)
	if err != nil {
		return nil, nil, p, err
	}
	f, info, err := p.openFile()
	return f, info, p, err
}

func (p place) openFile() (*os.File, fs.FileInfo, error) {
	if p.info == nil {
		return nil, nil, fs.ErrNotExist
	}
	// Looked at before it is opened, because opening a device can do things;
	// and after, because it may be another one by then.
	if err := checkRegular(p.info); err != nil {
		return nil, nil, err
	}
	f, err := p.root.OpenFile(p.rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func checkRegular(info fs.FileInfo) error {
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return errors.New("it is a directory: use list_directory")
	default:
		return fmt.Errorf("it is no regular file (%s)", m.Type())
	}
}

// readWhole reads a file of at most maxFile bytes.
func readWhole(f *os.File, info fs.FileInfo) ([]byte, error) {
	data, err := readUpTo(f, info.Size(), maxFile)
	if errors.Is(err, errTooMuch) {
		return nil, fmt.Errorf("it has %d bytes; at most %d are read at once: read parts of it with head or tail of read_text_file",
			max(info.Size(), maxFile+1), maxFile)
	}
	return data, err
}

var errTooMuch = errors.New("too much")

// readUpTo reads r to its end, which must come within most bytes whatever its
// size is said to be (files grow, and those in /proc have none).
func readUpTo(r io.Reader, size, most int64) ([]byte, error) {
	if size > most {
		return nil, errTooMuch
	}
	buf := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	n, err := buf.ReadFrom(io.LimitReader(r, most+1))
	if n > most {
		return nil, errTooMuch
	}
	return buf.Bytes(), err
}

func readText(c *call, args readArgs) (*mcp.CallToolResult, error) {
	head, err := lineCount("head", args.Head)
	if err != nil {
		return nil, err
	}
	tail, err := lineCount("tail", args.Tail)
	if err != nil {
		return nil, err
	}
	if head > 0 && tail > 0 {
		return nil, errors.New("give head or tail, not both")
	}
	data, err := c.readText(*args.Path, head, tail)
	if err != nil {
		return nil, failedError("read", *args.Path, err)
	}
	text, note := asText(data)
	res := mcp.NewToolResultText(text)
	if note != "" {
		res.Content = append(res.Content, mcp.NewTextContent(note))
	}
	return res, nil
}

// readText reads a file, or its first or last lines where head or tail is not zero.
func (c *call) readText(path string, head, tail int) ([]byte, error) {
	f, info, _, err := c.openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch {
	case head > 0:
		return firstLines(c, f, head)
	case tail > 0:
		return lastLines(c, f, info.Size(), tail)
	default:
		return readWhole(f, info)
	}
}

var errLines = fmt.Errorf("these lines have more than %d bytes: ask for fewer", maxFile)

// firstLines returns the first n lines as they stand, line ends included.
func firstLines(c *call, f io.Reader, n int) ([]byte, error) {
	var out []byte
	for r := bufio.NewReaderSize(f, tailStep); n > 0; {
		part, err := r.ReadSlice('\n')
		if out = append(out, part...); len(out) > maxFile {
			return nil, errLines
		}
		switch {
		case err == nil:
			n--
		case errors.Is(err, io.EOF):
			return out, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// lastLines returns the last n lines as they stand, read from the end backwards.
func lastLines(c *call, f io.ReaderAt, size int64, n int) ([]byte, error) {
	var parts [][]byte // the last one first
	var total int
	for at := size; at > 0; {
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		step := min(at, tailStep)
		at -= step
		part := make([]byte, step)
		if k, err := f.ReadAt(part, at); err != nil && !(errors.Is(err, io.EOF) && int64(k) == step) {
			if errors.Is(err, io.EOF) {
				err = errors.New("it became shorter while it was read: try again")
			}
			return nil, err
		}
		end := len(part)
		if len(parts) == 0 && part[end-1] == '\n' {
			end-- // it ends the last line, and begins none
		}
		for end > 0 && n > 0 {
			if end = bytes.LastIndexByte(part[:end], '\n'); end < 0 {
				break
			}
			if n--; n == 0 {
				part, at = part[end+1:], 0
			}
		}
		parts = append(parts, part)
		if total += len(part); total > maxFile {
			return nil, errLines
		}
	}
	out := make([]byte, 0, total)
	for i := len(parts) - 1; i >= 0; i-- {
		out = append(out, parts[i]...)
	}
	return out, nil
}

// asText makes valid UTF-8 of data and says so if it was not.
func asText(data []byte) (text, note string) {
	if utf8.Valid(data) {
		return string(data), ""
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"),
		"Note: this file is not UTF-8. Bytes that are not are shown as U+FFFD, so do not write this text back; read_media_file returns the bytes."
}

func readMany(c *call, args manyArgs) (*mcp.CallToolResult, error) {
	res := &mcp.CallToolResult{IsError: true} // unless one can be read
	left := maxFile
	for _, path := range args.Paths {
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		data, err := c.readText(path, 0, 0)
		if err == nil && len(data) > left {
			err = fmt.Errorf("the answer is full (%d bytes): read this one in a call of its own", maxFile)
		}
		if err != nil {
			res.Content = append(res.Content, mcp.NewTextContent(fmt.Sprintf("%s: Error - %s", showName(path), failedError("read", path, err))))
			continue
		}
		left -= len(data)
		text, note := asText(data)
		if note != "" {
			note = "\n" + note
		}
		res.Content = append(res.Content, mcp.NewTextContent(showName(path)+":\n"+text+note))
		res.IsError = false
	}
	return res, nil
}

// mediaTypes are told by the name if the content alone does not tell.
var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".bmp": "image/bmp", ".svg": "image/svg+xml", ".avif": "image/avif", ".ico": "image/x-icon", ".tiff": "image/tiff",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg",
	".flac": "audio/flac", ".m4a": "audio/mp4", ".aac": "audio/aac", ".pdf": "application/pdf",
}

func readMedia(c *call, args pathArgs) (*mcp.CallToolResult, error) {
	path := *args.Path
	f, info, p, err := c.openFile(path)
	if err != nil {
		return nil, failedError("read", path, err)
	}
	defer f.Close()
	data, err := readWhole(f, info)
	if err != nil {
		return nil, failedError("read", path, err)
	}
	kind, known := mediaTypes[strings.ToLower(filepath.Ext(p.rel))]
	if !known {
		kind = http.DetectContentType(data)
	}
	b64 := base64.StdEncoding.EncodeToString(data)
	var content mcp.Content
	switch {
	case strings.HasPrefix(kind, "image/"):
		content = mcp.NewImageContent(b64, kind)
	case strings.HasPrefix(kind, "audio/"):
		content = mcp.NewAudioContent(b64, kind)
	default:
		content = mcp.NewEmbeddedResource(mcp.BlobResourceContents{URI: platform.Host().FormatURI(p.placePath()), MIMEType: kind, Blob: b64})
	}
	return &mcp.CallToolResult{Content: []mcp.Content{content}}, nil
}

// lineCount reads head or tail; 0 and none at all both mean the whole file, since
// some clients fill in every optional number.
func lineCount(name string, v float64) (int, error) {
	if v < 0 || v != math.Trunc(v) || v > math.MaxInt32 {
		return 0, fmt.Errorf("invalid arguments: %s must be a number of lines, not %v", name, v)
	}
	return int(v), nil
}

// failedError returns what could not be done, where, and why.
func failedError(what, path string, err error) error {
	if out, ok := errors.AsType[*outsideError](err); ok {
		return fmt.Errorf("cannot %s %q: %w", what, path, out)
	}
	text := errorReason(err)
	if strings.Contains(text, "escapes from parent") {
		text = "access denied: a link there leads outside the allowed directories"
	}
	return fmt.Errorf("cannot %s %q: %s", what, path, text)
}

// showName returns a name as it may stand in a line of text: quoted if it
// holds something that could pass for another line, or that no one sees.
func showName(name string) string {
	if strings.ContainsAny(name, "\n\r\t\u2028\u2029\uFFFD") || printable.Clean(name) != name {
		return strconv.QuoteToASCII(name)
	}
	return name
}
