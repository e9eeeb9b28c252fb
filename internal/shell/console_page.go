// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// TokenFlag is the flag with which a verb goes on where a run of it has ended.
const TokenFlag = "token"

// AddToken adds the flag --token to a verb that calls [Console.WriteNext].
func AddToken(cmd *cobra.Command, token *string) {
	cmd.Flags().StringVar(token, TokenFlag, "", "go on where the run ended that wrote this `token`")
}

// WriteNext says that a verb has more to show or to do, and with which --token the same
// command goes on: in a line of its own on the error output, where it is no result. With
// --json the line is the object {"next": token}.
func (c *Console) WriteNext(token string) error {
	if c.JSON {
		return json.NewEncoder(c.Err).Encode(map[string]string{"next": token})
	}
	_, err := fmt.Fprintf(c.Err, "there is more: --%s %s\n", TokenFlag, token)
	return err
}
