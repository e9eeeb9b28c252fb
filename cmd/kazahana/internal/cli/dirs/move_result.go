// SPDX-License-Identifier: Apache-2.0

package dirs

import (
	"fmt"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// moveResult is a directory that was moved.
type moveResult struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Lines implements [shell.Result].
func (m moveResult) Lines() []string {
	return []string{fmt.Sprintf("moved %s to %s", shell.Argument(m.From), shell.Argument(m.To))}
}
