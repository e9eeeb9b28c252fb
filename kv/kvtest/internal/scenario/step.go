// SPDX-License-Identifier: Apache-2.0

package scenario

import "encoding/json"

// extras are the arguments that several operations share.
func (st *Step) extras(known Stamps) []string {
	var extra []string
	switch st.Op {
	case "get", "clear", "watch", "add_read_conflict_key", "add_write_conflict_key":
		extra = append(extra, st.Key.show(known))
	}
	if st.Reverse {
		extra = append(extra, "reverse")
	}
	if st.Snapshot {
		extra = append(extra, "snapshot")
	}
	return extra
}

// Step is one call of a scenario and what the cluster answered.
type Step struct {
	Tx       int             `json:"tx"`
	Op       string          `json:"op"`
	GRV      bool            `json:"grv,omitzero"`
	ID       int             `json:"id,omitzero"`
	WaitMS   int             `json:"wait_ms,omitzero"`
	Key      Text            `json:"key,omitzero"`
	Value    Text            `json:"value,omitzero"`
	From     Text            `json:"from,omitzero"`
	To       Text            `json:"to,omitzero"`
	Begin    SelectorText    `json:"begin,omitzero"`
	End      SelectorText    `json:"end,omitzero"`
	OrEqual  bool            `json:"or_equal,omitzero"`
	Offset   int             `json:"offset,omitzero"`
	Limit    int             `json:"limit,omitzero"`
	Reverse  bool            `json:"reverse,omitzero"`
	Snapshot bool            `json:"snapshot,omitzero"`
	Mode     string          `json:"mode,omitzero"`
	Mutation string          `json:"mutation,omitzero"`
	Option   string          `json:"option,omitzero"`
	Arg      int64           `json:"arg,omitzero"`
	Base     string          `json:"base,omitzero"`
	Of       int             `json:"of,omitzero"`
	Code     int             `json:"code,omitzero"`
	Want     json.RawMessage `json:"want,omitzero"`
	Or       json.RawMessage `json:"-"` // another right answer
}
