// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"fmt"

	"github.com/asynkron/protoactor-go/cluster"

	"github.com/kazahana-db/kazahana/placement"
)

// query asks a member where a key is active.
type query struct {
	key      placement.Key
	forwards int // how often it may be forwarded
	// assumed is the epoch under which, as far as the asking member knows, the key is active
	// at the asked one; 0: it knows nothing, and asks the authority.
	assumed int64
}

// asRequest returns the query as protoactor-go's request, whose id carries what
// has no field: forwards/assumed.
func (q query) asRequest() *cluster.ActivationRequest {
	return &cluster.ActivationRequest{
		ClusterIdentity: cluster.NewClusterIdentity(q.key.ID, q.key.Kind),
		RequestId:       fmt.Sprintf("%d/%d", q.forwards, q.assumed),
	}
}

// parseQuery returns the query of a message.
func parseQuery(m *cluster.ActivationRequest) (query, error) {
	q := query{key: placement.Key{Kind: m.GetClusterIdentity().GetKind(), ID: m.GetClusterIdentity().GetIdentity()}}
	if n, err := fmt.Sscanf(m.GetRequestId(), "%d/%d", &q.forwards, &q.assumed); n != 2 {
		return q, fmt.Errorf("protoactor: the request id %.80q is not one of this package: %w", m.GetRequestId(), err)
	}
	if q.forwards < 0 || q.forwards >= maxForwards || q.assumed < 0 {
		return q, fmt.Errorf("protoactor: the request id %.80q is out of range", m.GetRequestId())
	}
	return q, nil
}
