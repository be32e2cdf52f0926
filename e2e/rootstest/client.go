package rootstest

import (
	"context"
	"sync"

	"mcphub/rootsmgr"
)

// Client is a scripted rootsmgr.RootsSource. Without a standing answer each question
// waits until the test answers it, or until its context ends.
type Client struct {
	questions chan *Question

	mu      sync.Mutex
	always  func(cursor string) (rootsmgr.Page, error)
	asked   int
	open    int
	overlap bool
}

// NewClient makes a Client that has been told nothing yet.
func NewClient() *Client { return &Client{questions: make(chan *Question, 1024)} }

// Question is one question that waits for the test.
type Question struct {
	Cursor string
	answer chan reply
}

type reply struct {
	page rootsmgr.Page
	err  error
}

// Page answers a question.
func (q *Question) Page(p rootsmgr.Page) { q.answer <- reply{page: p} }

// Roots answers with one page of URIs.
func (q *Question) Roots(uris ...string) { q.Page(Page(uris...)) }

// Fail answers with an error.
func (q *Question) Fail(err error) { q.answer <- reply{err: err} }

// Page returns an answer of these URIs.
func Page(uris ...string) rootsmgr.Page {
	p := rootsmgr.Page{}
	for _, u := range uris {
		p.Entries = append(p.Entries, rootsmgr.RootEntry{URI: u})
	}
	return p
}

// Always gives every later question the same answer, at once.
func (c *Client) Always(uris ...string) {
	c.Script(func(string) (rootsmgr.Page, error) { return Page(uris...), nil })
}

// Script answers every later question by a function; nil hands them to Next
// again.
func (c *Client) Script(answer func(cursor string) (rootsmgr.Page, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.always = answer
}

// Next returns the channel of the questions that wait for the test.
func (c *Client) Next() <-chan *Question { return c.questions }

// Asked returns the number of questions so far, each page counted.
func (c *Client) Asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// Overlapped reports whether two questions were ever open at once.
func (c *Client) Overlapped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overlap
}

// ListRoots implements rootsmgr.RootsSource.
func (c *Client) ListRoots(ctx context.Context, cursor string) (rootsmgr.Page, error) {
	c.mu.Lock()
	c.asked++
	c.open++
	c.overlap = c.overlap || c.open > 1
	always := c.always
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.open--
		c.mu.Unlock()
	}()
	if always != nil {
		return always(cursor)
	}
	q := &Question{Cursor: cursor, answer: make(chan reply, 1)}
	c.questions <- q
	select {
	case r := <-q.answer:
		return r.page, r.err
	case <-ctx.Done():
		return rootsmgr.Page{}, ctx.Err()
	}
}

var _ rootsmgr.RootsSource = (*Client)(nil)
