package console

import "net/http"

// mayAllow says why a request may not have hub.json changed.
func (s *Server) mayAllow(r *http.Request) error {
	if !s.guard.mayAnswer(r) {
		return errLooks
	}
	return s.cfg.MayAllow()
}

func allowanceIn(r *http.Request) Allowance {
	return Allowance{Server: r.PostForm.Get("server"), Path: r.PostForm.Get("path"), Write: r.PostForm.Get("write") != "", Calls: r.PostForm.Get("calls") != ""}
}

// change shows what would be written, and writes nothing.
func (s *Server) change(r *http.Request) page {
	if err := s.mayAllow(r); err != nil {
		return s.notAllowed(r, err)
	}
	c, err := s.cfg.Change(r.Context(), allowanceIn(r))
	if err != nil {
		return s.notAllowed(r, err)
	}
	return page{View: "/decisions", Data: decisionsData{Change: &c}}
}

// allow writes what a person has been shown, by its digest. Then it shows the decisions on that path.
func (s *Server) allow(r *http.Request) page {
	if err := s.mayAllow(r); err != nil {
		return s.notAllowed(r, err)
	}
	said, err := s.cfg.Allow(r.Context(), allowanceIn(r), r.PostForm.Get("digest"))
	if err != nil {
		return s.notAllowed(r, err)
	}
	p := s.decisions(r)
	p.Notice = "Written. " + said
	return p
}

func (s *Server) notAllowed(r *http.Request, why error) page {
	p := s.decisions(r)
	p.Notice = "hub.json is not changed: " + why.Error()
	return p
}

// DiffClass is how a line of a diff is coloured; its first character says the same.
func (c *Change) DiffClass(line string) string {
	switch line[:min(1, len(line))] {
	case "+":
		return "good"
	case "-":
		return "bad"
	}
	return "quiet"
}
