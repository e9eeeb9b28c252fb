// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"strings"
)

// Describe prints a step as the call that it stands for.
func Describe(st *Step, known Stamps) string {
	var args []string
	add := func(format string, a ...any) { args = append(args, fmt.Sprintf(format, a...)) }
	switch st.Op {
	case "get_range":
		add("%s to %s, limit %d, mode %s", st.Begin.show(known), st.End.show(known), st.Limit, st.Mode)
	case "get_key":
		add("%s", SelectorText{st.Key, st.OrEqual, st.Offset}.show(known))
	case "clear_range", "add_read_conflict_range", "add_write_conflict_range":
		add("%s to %s", st.From.show(known), st.To.show(known))
	case "set":
		add("%s, %s", st.Key.show(known), st.Value.show(known))
	case "atomic":
		add("%s, %s, %s", st.Mutation, st.Key.show(known), st.Value.show(known))
	case "set_option":
		add("%s, %d", st.Option, st.Arg)
	case "set_read_version":
		add("%s %d %+d", st.Base, st.Of, st.Arg)
	case "on_error":
		add("%d", st.Code)
	case "watch", "watch_state", "cancel_watch", "get_versionstamp", "await_versionstamp":
		add("id %d", st.ID)
	}
	args = append(args, st.extras(known)...)
	return fmt.Sprintf("tx %d: %s(%s)", st.Tx, st.Op, strings.Join(args, ", "))
}

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

func (t Text) show(known Stamps) string {
	b, err := t.Bytes(known)
	if err != nil {
		return "‹" + err.Error() + "›"
	}
	return showBytes(b, known)
}

func (s SelectorText) show(known Stamps) string {
	sel, err := s.Selector(known)
	if err != nil {
		return "‹" + err.Error() + "›"
	}
	return sel.String()
}
