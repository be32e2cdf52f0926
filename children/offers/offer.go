package offers

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
)

// A RawOffer is what a child offers: immutable, raw, in the child's order.
type RawOffer struct {
	ServerName    string
	ServerVersion string
	Protocol      string  // the version agreed on
	Proposed      string  // the one that the handshake proposed; "": the newest, or there was none
	Instructions  string  //
	Capabilities  []byte  // raw object, nil when the child sent none
	ServerInfo    []byte  // raw object
	Entries       Entries // of its lists

	// Fresh is how long the lists may be kept by what the child said (ttlMs); 0
	// if it said nothing about use. Private: it said that they are not for others
	// than whom they were listed for (cacheScope).
	Fresh   time.Duration
	Private bool

	// Both: it was greeted by a handshake because it was slow, and can do without.
	Both bool

	// Notes are what was wrong with the lists when they were read last: a page that
	// failed, a bound. They are for people, and are not remembered.
	Notes []string

	// cut are the lists that were not had whole for a reason that the child did not
	// give itself: it ended, or was too slow. Bits by their place in lists. Such an
	// offer is good for this run, and is not remembered.
	cut Lists

	// failed are the lists that could not be read, and are to be asked for again. notes are
	// what Notes is made of, by the list.
	failed Lists
	notes  [Kinds][]string

	// unread are those, and the lists that the child declares and does not know.
	unread Lists

	// Lives are as they were read when it was listed. Of an offer that is remembered
	// they are old: Status reports the values of now.
	Lives Lives
}

// Entries are the entries of each list of a child, raw, all pages.
type Entries [Kinds][][]byte

// A Life is how long something may be kept, and by whom, by what the child said of
// it.
type Life struct {
	HasTTL bool          // it said for how long (ttlMs)
	Fresh  time.Duration // from At on
	Public bool          // it is the same for everybody (cacheScope)
	At     time.Time     // when it was read
}

// Lives are the lives of what a child offers.
type Lives struct {
	Self  Life // of what it says about itself (server/discover)
	Lists [Kinds]Life
}

// joinLife returns the life of two parts together.
func (life Life) joinLife(o Life) Life {
	switch {
	case o.HasTTL && life.HasTTL:
		life.Fresh = min(life.Fresh, o.Fresh)
	case o.HasTTL:
		life.Fresh = o.Fresh
	}
	life.HasTTL, life.Public = life.HasTTL || o.HasTTL, life.Public && o.Public
	return life
}

// LifeOf reads what a result says about its life.
func LifeOf(result []byte) Life {
	scope, _ := jsonrpc.GetString(result, "cacheScope")
	return Life{HasTTL: jsonrpc.Get(result, "ttlMs") != nil, Fresh: freshFor(result), Public: scope == "public", At: time.Now()}
}

// IsModern reports whether the offer was made in the era without a handshake.
func (o *RawOffer) IsModern() bool { return o != nil && mcp.IsModernProtocol(o.Protocol) }

// IsWhole reports whether every list was had whole, or cut by the child's own doing.
func (o *RawOffer) IsWhole() bool { return o.cut == 0 }

// FailedLists returns the lists that could not be read. Their entries are the entries of an earlier time, or none.
func (o *RawOffer) FailedLists() Lists { return o.failed }

// Lacks reports whether the list of a ListKind could not be read.
func (o *RawOffer) Lacks(k ListKind) bool { return o.failed&(1<<k) != 0 }

// Manner returns how the child is spoken to and what it is able to do, without any text that a model reads.
func (o *RawOffer) Manner() *RawOffer {
	return &RawOffer{ServerVersion: o.ServerVersion, Protocol: o.Protocol, Proposed: o.Proposed, Both: o.Both, Capabilities: o.Capabilities}
}

// IsUnread reports whether the list of a ListKind could not be read, or is not known to the child that declares it: it may have what is not listed.
func (o *RawOffer) IsUnread(k ListKind) bool { return o.unread&(1<<k) != 0 }

// Filled returns the offer with the entries of another one instead of lists that could not be read.
func (o *RawOffer) Filled(from *RawOffer) *RawOffer {
	if o.failed == 0 || from == nil {
		return o
	}
	now := *o
	for k := range Kinds {
		if o.Lacks(k) && o.Entries[k] == nil {
			now.Entries[k] = from.Entries[k]
		}
	}
	return &now
}

// Equal reports whether two offers hold the same bytes. How long they may be
// kept is no part of that: it may be what is left of some time.
func (o *RawOffer) Equal(p *RawOffer) bool {
	return o == p || o != nil && p != nil && o.ServerName == p.ServerName && o.ServerVersion == p.ServerVersion && o.Protocol == p.Protocol && o.Proposed == p.Proposed &&
		o.Instructions == p.Instructions && o.Private == p.Private && o.Both == p.Both && o.unread == p.unread && bytes.Equal(o.Capabilities, p.Capabilities) && bytes.Equal(o.ServerInfo, p.ServerInfo) &&
		slices.EqualFunc(o.Entries[:], p.Entries[:], func(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) })
}

// memorySize returns about how many bytes an offer takes in memory.
func (o *RawOffer) memorySize() int {
	n := len(o.Instructions) + len(o.Capabilities) + len(o.ServerInfo)
	for _, list := range o.Entries {
		for _, entry := range list {
			n += len(entry)
		}
	}
	return n
}

// HasTool reports whether an offer lists a tool.
func (o *RawOffer) HasTool(name string) bool {
	return slices.ContainsFunc(o.Entries[Tools], func(raw []byte) bool {
		n, ok := jsonrpc.GetString(raw, "name")
		return ok && n == name
	})
}

// IsPrivate reports whether a result may not be shown to others than whom it was
// made for.
func IsPrivate(result []byte) bool {
	scope, _ := jsonrpc.GetString(result, "cacheScope")
	return scope == "private"
}

// freshFor returns how long a result may be kept by what it says; 0 if it
// says nothing that can be used.
func freshFor(result []byte) time.Duration {
	var ms float64
	if json.Unmarshal(jsonrpc.Get(result, "ttlMs"), &ms) != nil || ms <= 0 {
		return 0
	}
	return time.Duration(min(ms, float64(time.Hour.Milliseconds()))) * time.Millisecond
}

// DeclaresExtension reports whether raw capabilities have an extension.
func DeclaresExtension(capabilities []byte, key string) bool {
	return jsonrpc.IsObject(jsonrpc.Get(jsonrpc.Get(capabilities, "extensions"), key))
}

// DeclaresCapability reports whether a raw capabilities object has a member that is not
// null.
func DeclaresCapability(capabilities []byte, name string) bool {
	v := jsonrpc.Get(capabilities, name)
	return v != nil && string(v) != "null"
}
