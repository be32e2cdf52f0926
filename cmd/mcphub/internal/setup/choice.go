package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/hub/toolset"
	"mcphub/internal/atomicfile"
	"mcphub/internal/ownership"
	"mcphub/internal/printable"
)

// This file reads the file by which a project chooses among the toolsets that hub.json marks as selectable.

// choiceName is the name of that file, in the top of a project.
const choiceName = ".mcphub.json"

// maxChoice bounds that file, in bytes.
const maxChoice = 64 << 10

// withChoice returns the toolsets for a client that was started in dir, with what the project of that client chooses. A file that does not count is
// left out with a warning. client is the process of the client.
func (s *Source) withChoice(t *toolset.Table, env func(string) (string, bool), dir string, client int, log zerolog.Logger) *toolset.Table {
	if !t.HasSelectable() || dir == "" {
		return t
	}
	real, search, ok := newProjectSearch(dir, env, client)
	if !ok || search.home == "" {
		return t
	}
	project, refused := search.find(real)
	if project == "" {
		return t
	}
	path := filepath.Join(project, choiceName)
	ignore := func(reason string) *toolset.Table {
		log.Warn().Str("file", path).Str("reason", reason).Msg("the project's choice of toolsets is ignored")
		return t
	}
	if refused != "" {
		if _, err := os.Lstat(path); err != nil {
			return t
		}
		return ignore(refused)
	}
	text, err := s.readChoice(path)
	switch {
	case err != nil:
		return ignore(printable.Escape(err.Error(), 500))
	case text == nil:
		return t
	}
	names, err := parseChoice(text)
	if err != nil {
		return ignore(printable.Escape(err.Error(), 500))
	}
	for _, name := range names {
		if !slices.ContainsFunc(t.Sets, func(set toolset.Set) bool { return set.Name == name && set.Selectable }) {
			log.Warn().Str("file", path).Str("toolset", printable.Escape(name, 100)).Msg(`the project chooses a toolset that hub.json does not mark "selectable": it does not count`)
		}
	}
	with := *t
	with.Choice = &toolset.Project{Dirs: []string{project}, Toolsets: names}
	return &with
}

// readChoice returns the text of a project's file that counts; nil if there is none.
func (s *Source) readChoice(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && !s.Consent.Keeps():
		return nil, nil
	case missing:
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file; write it in the project itself")
	case ownership.Check(info) != nil || ownership.OthersReplace(path, info):
		return nil, fmt.Errorf("another user may write it; chmod go-w %s", path)
	}
	var text []byte
	if !missing {
		if text, err = readBounded(path, info, maxChoice); err != nil {
			return nil, err
		}
	}
	if !s.Consent.Keeps() {
		return text, nil
	}
	trail, err := hubfile.Follow(path)
	if err != nil {
		return nil, err
	}
	i := consent.Item{ID: "toolsets:" + path, Title: path + " has changed, and a server could have written it", Paths: trail.All(), Value: append([]byte{}, text...)}
	counts, err := s.acceptedText(i, text, false)
	if err == nil && counts == nil && text != nil {
		err = errors.New("a server could have written it; look at it, then run mcphub reload in a terminal of your own")
	}
	return counts, err
}

// readBounded reads a regular file of at most so many bytes. looked is what was seen at the path before, and has to be there still; nil: nothing was
// seen.
func readBounded(path string, looked fs.FileInfo, limit int64) ([]byte, error) {
	f, err := atomicfile.Open(path, syscall.O_NONBLOCK) // a pipe that has taken its place would wait for someone to write
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case looked != nil && !os.SameFile(looked, info):
		return nil, errors.New("it was replaced while it was read; start the client again")
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	return text, err
}

// parseChoice reads the names of toolsets. What the file cannot decide is refused, so that it is not taken for decided.
func parseChoice(text []byte) ([]string, error) {
	var choice struct {
		Toolsets []string `json:"toolsets"`
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&choice); err != nil {
		return nil, fmt.Errorf(`%s; write {"toolsets": ["NAME"]}`, strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New(`there is more than one object; write {"toolsets": ["NAME"]}`)
	}
	return choice.Toolsets, nil
}
