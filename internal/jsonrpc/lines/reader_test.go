package lines

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"mcphub/e2e/seeds"
)

// chunked reads s in pieces of the sizes given, over and over.
type chunked struct {
	s     []byte
	sizes []int
	i     int
}

func (c *chunked) Read(b []byte) (int, error) {
	if len(c.s) == 0 {
		return 0, io.EOF
	}
	n := min(len(b), len(c.s), c.sizes[c.i%len(c.sizes)])
	c.i++
	copy(b, c.s[:n])
	c.s = c.s[n:]
	return n, nil
}

// readAll reads everything; a line that is too long becomes "!" and its size.
func readAll(t *testing.T, r *Reader, take func(i int) bool) []string {
	var all []string
	for i := 0; ; i++ {
		line, err := r.Next()
		var long *TooLongError
		switch {
		case errors.As(err, &long):
			all = append(all, "!"+strings.Repeat("x", int(long.Size)))
			continue
		case errors.Is(err, io.EOF):
			if _, again := r.Next(); !errors.Is(again, io.EOF) {
				t.Fatalf("after the end: %v", again)
			}
			return all
		case err != nil:
			t.Fatal(err)
		}
		if take(i) {
			own, buf := r.Take()
			if !bytes.Equal(own, line) {
				t.Fatalf("Take gave %.40q for %.40q", own, line)
			}
			all = append(all, string(own))
			if buf != nil && i%2 == 0 {
				buf.Release()
			}
			continue
		}
		all = append(all, string(line))
	}
}

func split0(s string, limit int) []string {
	var all []string
	for _, line := range strings.SplitAfter(s, "\n") {
		if line == "" {
			continue
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if len(line) > limit {
			all = append(all, "!"+strings.Repeat("x", len(line)))
			continue
		}
		all = append(all, line)
	}
	return all
}

func TestReaderLines(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"empty":                  {"", nil},
		"one":                    {"a\n", []string{"a"}},
		"no line end":            {"a\nb", []string{"a", "b"}},
		"CRLF":                   {"a\r\nb\r\n\r\n", []string{"a", "b", ""}},
		"CR within":              {"a\rb\n", []string{"a\rb"}},
		"CR at the end of input": {"a\r", []string{"a"}},
		"at the limit":           {x(100) + "\n" + x(100) + "\r\n" + x(100), []string{x(100), x(100), x(100)}},
		"over the limit":         {x(101) + "\na\n" + x(102) + "\nb\n" + x(101), []string{"!" + x(101), "a", "!" + x(102), "b", "!" + x(101)}},
		"far over the limit":     {x(1<<20) + "\na\n" + x(1<<20), []string{"!" + x(1<<20), "a", "!" + x(1<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, sizes := range [][]int{{1 << 20}, {1}, {101}, {102}, {7, 64 << 10}} {
				got := readAll(t, NewReader(&chunked{s: []byte(tc.in), sizes: sizes}, 100), func(i int) bool { return i%2 == 0 })
				if !slices.Equal(got, tc.want) {
					t.Fatalf("in pieces of %v: got %.200q, want %.200q", sizes, got, tc.want)
				}
			}
		})
	}
}

// Lines of all sizes in one stream, with others behind them in the buffer.
func TestReaderHandsBuffersOver(t *testing.T) {
	t.Parallel()
	rng := seeds.Rand(t)
	var in strings.Builder
	for i := range 200 {
		n := rng.IntN(300)
		switch rng.IntN(12) {
		case 0:
			n = rng.IntN(3 << 20)
		case 1, 2:
			n = 30<<10 + rng.IntN(200<<10)
		}
		in.WriteString(strings.Repeat(string(rune('a'+i%26)), n) + "\n")
	}
	want := split0(in.String(), 1<<20)
	for _, sizes := range [][]int{{64 << 10}, {1 << 30}, {4096, 1, 70000}} {
		got := readAll(t, NewReader(&chunked{s: []byte(in.String()), sizes: sizes}, 1<<20), func(int) bool { return rng.IntN(2) == 0 })
		if !slices.Equal(got, want) {
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("line %d: got %d bytes %.20q, want %d bytes %.20q", i, len(got[i]), got[i], len(want[i]), want[i])
				}
			}
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
	}
}

// One large line does not cost its memory for ever, whether it was taken, read
// in place, or too long.
func TestReaderGoesBackToASmallBuffer(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 5<<20) + "\n"
	for _, take := range []bool{false, true} {
		for _, limit := range []int{0, 1 << 20} {
			r := NewReader(strings.NewReader("a\n"+large+"b\nc\n"), limit)
			for {
				_, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if take {
					r.Take()
				}
			}
			if r.owner != nil || len(r.buf) != readSize {
				t.Fatalf("take=%v limit=%d: a buffer of %d is kept", take, limit, len(r.buf))
			}
		}
	}
}

// A frame a little over the small buffer does not walk away with one that a
// larger frame has left.
func TestReaderDoesNotWasteBuffers(t *testing.T) {
	t.Parallel()
	r := NewReader(strings.NewReader(strings.Repeat("x", 10<<20)+"\n"+strings.Repeat("y", 70<<10)+"\n"), 0)
	for range 2 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		line, buf := r.Take()
		if buf == nil || len(buf.b) > 4*len(line) {
			t.Fatalf("%d bytes came in a buffer of %d", len(line), len(buf.b))
		}
	}
}

func TestReaderErrors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(boom)), 0)
	for _, want := range []string{"a", "b"} {
		if line, err := r.Next(); err != nil || string(line) != want {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if _, err := r.Next(); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if _, err := NewReader(idle{}, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Fatal(err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\nccc"), []byte{1, 2}, uint16(2))
	f.Add([]byte("\r\r\n\n\r"), []byte{1}, uint16(1))
	f.Add(bytes.Repeat([]byte("x"), 300), []byte{255}, uint16(100))
	f.Add(append(bytes.Repeat([]byte("{\"id\":1}\n"), 40), "tail"...), []byte{3, 200, 1}, uint16(7))
	f.Fuzz(func(t *testing.T, in, pieces []byte, limit uint16) {
		sizes := []int{1 << 20}
		for _, p := range pieces {
			sizes = append(sizes, 1+int(p))
		}
		// Repeated, so that it reaches over the small buffer now and then.
		if len(in) > 0 && len(pieces) > 0 && pieces[0]%16 == 0 {
			in = bytes.Repeat(in, 1+(150<<10)/len(in))
		}
		most := int(limit)
		if most == 0 {
			most = DefaultLimit
		}
		want := split0(string(in), most)
		got := readAll(t, NewReader(&chunked{s: in, sizes: sizes[min(1, len(sizes)-1):]}, most), func(i int) bool { return i%3 == 0 })
		if slices.Equal(got, want) {
			return
		}
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("limit %d, pieces %v, line %d: got %.80q, want %.80q", most, sizes, i, got[i], want[i])
			}
		}
		t.Fatalf("limit %d, pieces %v: %d lines, want %d", most, sizes, len(got), len(want))
	})
}

// TestReaderDropsAByteOrderMark: that before the first line, and no other.
func TestReaderDropsAByteOrderMark(t *testing.T) {
	t.Parallel()
	const mark = "\xef\xbb\xbf"
	for _, size := range []int{1, 2, 100} {
		r := NewReader(&chunked{s: []byte(mark + "{}\n" + mark + "[]\n"), sizes: []int{size}}, 0)
		if got := readAll(t, r, func(int) bool { return false }); !slices.Equal(got, []string{"{}", mark + "[]"}) {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
}
