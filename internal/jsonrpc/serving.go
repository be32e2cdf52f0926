package jsonrpc

// Serving is how many requests of the peer are being served, those included
// whose answer the peer has not yet taken.
func (c *Conn) Serving() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tabs.active
}
