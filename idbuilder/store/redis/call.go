// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"errors"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// reply has the texts that a script returns after its status.
type reply struct {
	status string
	texts  []string
}

// int returns a part that is a number.
func (r reply) int(i int, where string) (int64, error) {
	if i >= len(r.texts) {
		return 0, corrupt(where, fmt.Errorf("the script returned %d parts", len(r.texts)))
	}
	n, err := strconv.ParseInt(r.texts[i], 10, 64)
	if err != nil {
		return 0, corrupt(where, err)
	}
	return n, nil
}

func corrupt(where string, err error) error {
	return &store.CorruptError{
		Where:  "key " + where,
		Reason: "the program did not write this: restore it from a backup",
		Err:    err,
	}
}

// replyOf returns the reply of a script, or an error for the state that the script reports.
func replyOf(result any, err error) (r reply, _ error) {
	switch {
	case err != nil && (goredis.HasErrorPrefix(err, "READONLY") || goredis.HasErrorPrefix(err, "MISCONF")):
		return r, fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case errors.Is(err, goredis.ErrClosed):
		return r, fmt.Errorf("%w: %w", store.ErrClosed, err)
	case err != nil:
		return r, err
	}
	parts, _ := result.([]any)
	for _, part := range parts {
		text, ok := part.(string)
		if !ok {
			return r, fmt.Errorf("a script returned %T, want texts", part)
		}
		r.texts = append(r.texts, text)
	}
	if len(r.texts) == 0 {
		return r, fmt.Errorf("a script returned %v, want a list of texts", result)
	}
	r.status, r.texts = r.texts[0], r.texts[1:]
	return r, r.stateError()
}

// stateError returns the error of a state that no call expects.
func (r reply) stateError() error {
	switch r.status {
	case "readonly":
		return fmt.Errorf("%w: the server is a replica", store.ErrReadOnly)
	case "lost":
		return store.ErrLost
	case "noschema":
		return store.ErrNoSchema
	case "conflict":
		return store.ErrConflict
	case "schema":
		version, err := r.int(0, "schema:version")
		if err != nil || version <= schema {
			return corrupt("schema:version", fmt.Errorf("it is %q", r.texts))
		}
		return &store.SchemaError{Found: int(version), Supported: schema}
	}
	return nil
}
