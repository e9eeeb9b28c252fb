// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/internal/pagetoken"
)

// sealMaintenanceToken returns the token of a position in a long operation.
func (s *source) sealMaintenanceToken(operation string, position []byte) string {
	return pagetoken.Seal(s.place.db.tokenKey, s.maintenanceQuery(operation), pagetoken.Position{Format: pagetoken.Numbered, Plan: []byte{1}, Key: position})
}

// openMaintenanceToken returns the position of a token, nil for the empty one.
func (s *source) openMaintenanceToken(operation, token string) ([]byte, error) {
	if token == "" {
		return nil, nil
	}
	p, err := pagetoken.Open(s.place.db.tokenKey, token, pagetoken.Only(s.maintenanceQuery(operation)))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %s: %w", ErrBadToken, s.record.Type, operation, err)
	}
	return p.Key, nil
}

// maintenanceQuery is what a token is bound to: operation, type and directory.
func (s *source) maintenanceQuery(operation string) []byte {
	b := pagetoken.AppendFramed([]byte("maintenance"), []byte(operation))
	b = pagetoken.AppendFramed(b, []byte(s.record.Type))
	for _, element := range s.place.path {
		b = pagetoken.AppendFramed(b, []byte(element))
	}
	return b
}
