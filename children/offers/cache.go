package offers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mcphub/internal/atomicfile"
	"mcphub/internal/ownership"
)

// The catalogue cache: one file for each child, named by the digest of what
// makes up its offer. A file is a hint and nothing more: it is listed until the
// child has been asked, and no call is made by it alone.

const (
	// Format starts each file; another format has another one.
	Format   = "mcphub catalogue 6\n"
	cacheEnd = ".catalogue"
	// maxCacheFile bounds one file, in bytes; a longer offer is not kept.
	maxCacheFile = 80 << 20
	// maxCacheFiles bounds how many there are, and maxCacheBytes how long they are together; the
	// oldest give way.
	maxCacheFiles = 4096
	maxCacheBytes = 256 << 20
)

// cache keeps offers as files in one folder. Any number of hubs may use the folder at a time.
type cache struct {
	dir  string // "": nothing is kept
	log  zerolog.Logger
	room *room // nil: the folder is looked through after each file
}

// A room is how much may be added to a folder before it must be looked through again. The zero room is none. A mutex guards it.
type room struct {
	mu    sync.Mutex
	files int
	bytes int64
}

// takeFor takes the room of a file, and reports whether there was enough.
func (r *room) takeFor(size int) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files, r.bytes = r.files-1, r.bytes-int64(size)
	return r.files >= 0 && r.bytes >= 0
}

// setLeft sets the room of a folder that has these files: a quarter of what is left, because other hubs add files too.
func (r *room) setLeft(files int, bytes int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files, r.bytes = (maxCacheFiles-files)/4, (maxCacheBytes-bytes)/4
}

// loadOffer returns the offer kept under a digest, nil if there is none that can be
// used.
func (c cache) loadOffer(digest string) *RawOffer {
	if c.dir == "" {
		return nil
	}
	var o *RawOffer
	raw, err := c.readFile(c.offerFile(digest))
	if err == nil {
		o, err = decodeOffer(raw, digest)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.log.Warn().Str("file", c.offerFile(digest)).Err(err).Msg("a cached catalogue is ignored")
		}
		return nil
	}
	return o
}

// storeOffer keeps an offer. What cannot be kept is logged and missed by no one.
func (c cache) storeOffer(digest string, o *RawOffer) {
	if c.dir == "" {
		return
	}
	if err := c.writeFile(c.offerFile(digest), encodeOffer(o, digest)); err != nil {
		c.log.Warn().Str("file", c.offerFile(digest)).Err(err).Msg("a catalogue is not cached")
	}
}

func (c cache) offerFile(digest string) string { return filepath.Join(c.dir, digest+cacheEnd) }

// readFile reads a file of the folder that is the user's alone.
func (c cache) readFile(path string) ([]byte, error) {
	if err := c.checkFolder(); err != nil {
		return nil, err
	}
	// A link is not followed, a pipe not waited for. What is renamed to this place
	// meanwhile is the user's own: the folder is closed to others.
	if fi, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := atomicfile.Open(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case fi.Size() > maxCacheFile:
		return nil, fmt.Errorf("it has %d bytes, more than %d", fi.Size(), maxCacheFile)
	}
	if err := checkPrivate(fi); err != nil {
		return nil, err
	}
	raw := make([]byte, fi.Size())
	_, err = io.ReadFull(f, raw)
	return raw, err
}

// checkPrivate refuses what someone else may have written, or may read.
func checkPrivate(fi fs.FileInfo) error {
	if mode := fi.Mode().Perm(); ownership.OthersUse(fi) {
		return fmt.Errorf("its mode %#o lets others in; make it %#o", mode, mode&0o700)
	}
	if ownership.Check(fi) != nil {
		return errors.New("it belongs to somebody else")
	}
	return nil
}

// checkFolder refuses a folder that others can write to or read.
func (c cache) checkFolder() error {
	fi, err := os.Lstat(c.dir)
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return fmt.Errorf("%s is not a directory", c.dir)
	}
	if err := checkPrivate(fi); err != nil {
		return fmt.Errorf("%s: %w", c.dir, err)
	}
	return nil
}

// writeFile puts a file in its place, whole.
func (c cache) writeFile(path string, raw []byte) error {
	if len(raw) > maxCacheFile {
		return fmt.Errorf("it would have %d bytes, more than %d", len(raw), maxCacheFile)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if err := c.checkFolder(); err != nil {
		return err
	}
	had, _ := os.Lstat(path)
	if err := atomicfile.WriteHint(path, raw, 0o600); err != nil || had != nil && had.Size() >= int64(len(raw)) {
		return err
	}
	if c.room.takeFor(len(raw)) {
		return nil
	}
	return c.pruneFiles() // there is more than before
}

// pruneFiles removes the oldest files beyond the bounds, and what a hub that was
// killed left half written.
func (c cache) pruneFiles() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), cacheEnd) && !strings.HasPrefix(e.Name(), atomicfile.Prefix) {
			continue // not ours
		}
		if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() {
			files = append(files, fi)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	var size, kept int64
	count := 0
	for i, fi := range files {
		if size += fi.Size(); i < maxCacheFiles && size <= maxCacheBytes {
			count, kept = i+1, size
			continue
		}
		if err := os.Remove(filepath.Join(c.dir, fi.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	c.room.setLeft(count, kept)
	return nil
}

// encodeOffer lays out a file: the magic, the SHA-256 of the rest, then the
// digest and the members of the offer, each behind its length. Definitions
// stay the very bytes that the child sent, which need not be good JSON.
func encodeOffer(o *RawOffer, digest string) []byte {
	var body []byte
	put := func(b []byte) { body = append(binary.AppendUvarint(body, uint64(len(b))), b...) }
	for _, s := range []string{digest, o.ServerName, o.ServerVersion, o.Protocol, o.Proposed, o.Instructions} {
		put([]byte(s))
	}
	put(o.Capabilities)
	put(o.ServerInfo)
	put([]byte(strconv.FormatInt(int64(o.Fresh), 10)))
	put([]byte(strconv.FormatBool(o.Private)))
	put([]byte(strconv.FormatBool(o.Both)))
	put([]byte(strconv.FormatUint(uint64(o.unread), 10)))
	for _, entries := range o.Entries {
		body = binary.AppendUvarint(body, uint64(len(entries)))
		for _, e := range entries {
			put(e)
		}
	}
	sum := sha256.Sum256(body)
	out := append(make([]byte, 0, len(Format)+len(sum)+len(body)), Format...)
	return append(append(out, sum[:]...), body...)
}

var errDamaged = errors.New("it is damaged")

// decodeOffer reads a file. Everything in it is bounded by its length.
func decodeOffer(raw []byte, digest string) (*RawOffer, error) {
	body, ok := bytes.CutPrefix(raw, []byte(Format))
	if !ok {
		return nil, errors.New("it is of another format")
	}
	if len(body) < sha256.Size {
		return nil, errDamaged
	}
	sum, body := [sha256.Size]byte(body[:sha256.Size]), body[sha256.Size:]
	if sha256.Sum256(body) != sum {
		return nil, errDamaged
	}
	length := func() uint64 { // of what follows, which it cannot be longer than
		size, n := binary.Uvarint(body)
		if n <= 0 || size > uint64(len(body)-n) {
			ok, n, size = false, len(body), 0
		}
		body = body[n:]
		return size
	}
	take := func() []byte {
		size := length()
		b := body[:size:size]
		body = body[size:]
		return b
	}
	kept := string(take())
	o := &RawOffer{ServerName: string(take()), ServerVersion: string(take()), Protocol: string(take()), Proposed: string(take()), Instructions: string(take())}
	if o.Capabilities = take(); len(o.Capabilities) == 0 {
		o.Capabilities = nil
	}
	if o.ServerInfo = take(); len(o.ServerInfo) == 0 {
		o.ServerInfo = nil
	}
	fresh, errFresh := strconv.ParseInt(string(take()), 10, 64)
	scoped, errScoped := strconv.ParseBool(string(take()))
	both, errBoth := strconv.ParseBool(string(take()))
	unread, errUnread := strconv.ParseUint(string(take()), 10, 32)
	if errFresh != nil || errScoped != nil || errBoth != nil || errUnread != nil {
		return nil, errDamaged
	}
	o.Fresh, o.Private, o.Both, o.unread = time.Duration(fresh), scoped, both, Lists(unread)
	for k := range o.Entries {
		count := length() // an entry takes a byte at least
		if count > maxEntries {
			return nil, errDamaged
		}
		for range count {
			o.Entries[k] = append(o.Entries[k], take())
		}
	}
	switch {
	case !ok || len(body) > 0:
		return nil, errDamaged
	case kept != digest:
		return nil, errors.New("it is that of another server")
	}
	return o, nil
}
