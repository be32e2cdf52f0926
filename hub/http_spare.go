package hub

// spare reports whether half of a stream's room is free.
func (st *stream) spare() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.unsent <= streamWaiting/2
}

// TrySpare is TryNotify where half of the room of the client's own stream is
// free.
func (c *httpClient) TrySpare(method string, params ...[]byte) bool {
	return c.own.spare() && c.TryNotify(method, params...)
}

// TrySpare is TryNotify where half of the room of the stream is free.
func (x *exchange) TrySpare(method string, params ...[]byte) bool {
	if st := x.flow(); st != nil {
		return st.spare() && st.put(frameOf(nil, method, params), false)
	}
	return x.c.TrySpare(method, params...)
}
