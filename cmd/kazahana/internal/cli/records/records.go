// SPDX-License-Identifier: Apache-2.0

// Package records has the commands kazahana record, which show, write and remove records
// without the Go code of their types.
package records

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// Command returns the group kazahana record.
func Command(c *shell.Console) *cobra.Command {
	return shell.Group("record", "Show, write and remove records of any type",
		getCommand(c), listCommand(c), findCommand(c), putCommand(c), removeCommand(c))
}

// aboutJSON says in the help of a verb what records are in JSON.
const aboutJSON = `
A record is a JSON object with a member for each field. Ids of kazahana, times, durations and UUIDs
are texts, other bytes are base64, null is an absent value.`

// row is a record as the result of a verb.
type row struct{ *dynamic.Record }

// Lines implements [shell.Result].
func (s row) Lines() []string {
	text, err := s.MarshalJSON()
	if err != nil {
		return []string{err.Error()}
	}
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil { // it is JSON
		return []string{string(text)}
	}
	return strings.Split(out.String(), "\n")
}
