// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// parameters has the parameters of a configuration, as JSON.
type parameters map[string]json.RawMessage

// Lines implements [shell.Result]: key, name and id_type first.
func (p parameters) Lines() []string {
	names := slices.Sorted(maps.Keys(p))
	first := map[string]int{"key": -3, "name": -2, "id_type": -1}
	slices.SortStableFunc(names, func(a, b string) int { return first[a] - first[b] })
	var pairs []any
	for _, name := range names {
		value := string(p[name])
		var text string
		if json.Unmarshal(p[name], &text) == nil {
			value = shell.Word(text)
		}
		pairs = append(pairs, name, value)
	}
	return shell.Fields(pairs...)
}

// deployedOnly has the parameters of the deployed worker's dialect alone. In that dialect a
// configuration has a name instead of a key.
var deployedOnly = []string{"start", "step", "pattern", "sequence_reset", "epoch", "worker_bits", "sequence_bits"}

// encode returns the parameters as JSON, with the key.
func (p parameters) encode(key string, create bool) ([]byte, error) {
	speaksDeployed := slices.ContainsFunc(deployedOnly, func(name string) bool { _, ok := p[name]; return ok })
	if create && !speaksDeployed {
		return nil, shell.Invalid(errors.New("--create goes with the deployed worker's parameters: " + strings.Join(deployedOnly, ", ")))
	}
	name := "key"
	if create {
		name = "name"
	}
	text, err := json.Marshal(key)
	p[name] = text
	body, failed := json.Marshal(p)
	return body, errors.Join(err, failed)
}

// asJSON returns a value as it is if it is JSON, and as a JSON string otherwise.
func asJSON(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	text, _ := json.Marshal(value) // encoding a string does not fail
	return text
}
