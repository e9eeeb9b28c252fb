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
