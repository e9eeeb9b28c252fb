// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// answer waits for a future and makes a response of its result.
func answer[T any](ctx context.Context, f kv.Future[T], response func(T) Response) func() (Response, error) {
	return func() (Response, error) {
		result, err := f.Get(ctx)
		if err != nil {
			return Response{}, err
		}
		return response(result), nil
	}
}

func values(ctx context.Context, f kv.Future[[]byte]) func() (Response, error) {
	return answer(ctx, f, func(v []byte) Response { return Response{Value: v, Absent: v == nil} })
}

func integers(ctx context.Context, f kv.Future[int64]) func() (Response, error) {
	return answer(ctx, f, func(n int64) Response { return Response{Integer: n} })
}

func none(ctx context.Context, f kv.Future[struct{}]) func() (Response, error) {
	return answer(ctx, f, func(struct{}) Response { return Response{} })
}
