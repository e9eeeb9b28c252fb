// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

func setOption(_ context.Context, _ *replay, s *slot, st *step) answer {
	option, ok := optionNames[st.Option]
	if !ok {
		return done(fmt.Errorf("the replayer does not know the option %q", st.Option))
	}
	return done(s.tx.SetOption(option, st.Arg))
}

func commit(ctx context.Context, r *replay, s *slot, st *step) answer {
	s.stamp = s.tx.GetVersionstamp()
	err := s.tx.Commit(ctx)
	if err == nil {
		r.learn(ctx, st, s)
	}
	return done(err)
}

func commitStart(_ context.Context, _ *replay, s *slot, _ *step) answer {
	s.stamp = s.tx.GetVersionstamp()
	s.commit = s.tx.CommitAsync()
	return answer{}
}

func commitAwait(ctx context.Context, r *replay, s *slot, st *step) answer {
	_, err := s.commit.Get(ctx)
	if err == nil {
		r.learn(ctx, st, s)
	}
	return done(err)
}

func onError(ctx context.Context, _ *replay, s *slot, st *step) answer {
	return done(s.tx.OnError(ctx, &kv.Error{Code: kv.Code(st.Code)}))
}

// getCommittedVersion answers 1 for any positive version, as recordings do.
func getCommittedVersion(_ context.Context, _ *replay, s *slot, _ *step) answer {
	version, err := s.tx.GetCommittedVersion()
	return answer{kind: "version", n: min(version, 1)}.orError(err)
}

func getApproximateSize(ctx context.Context, _ *replay, s *slot, _ *step) answer {
	size, err := s.tx.GetApproximateSize().Get(ctx)
	return answer{kind: "size", n: size}.orError(err)
}

func getVersionstamp(ctx context.Context, r *replay, s *slot, st *step) answer {
	future := s.tx.GetVersionstamp()
	r.asked[st.ID] = future
	if want, err := parseWant(st.Want, r.known); err == nil && want.kind == "error" {
		pause(ctx, future.Done(), watchWait)
	}
	return lookAtStamp(ctx, future)
}

func lookAtStamp(ctx context.Context, future kv.Future[[]byte]) answer {
	if !future.Ready() {
		return answer{kind: "ready"}
	}
	_, err := future.Get(ctx)
	return answer{kind: "ready", flag: true}.orError(err)
}

func awaitVersionstamp(ctx context.Context, r *replay, _ *slot, st *step) answer {
	future, ok := r.asked[st.ID]
	if !ok {
		return done(fmt.Errorf("versionstamp %d was not asked for", st.ID))
	}
	pause(ctx, future.Done(), r.patience(st, answer{kind: "ready"}))
	if !future.Ready() {
		return answer{kind: "ready"}
	}
	stamp, err := future.Get(ctx)
	return answer{kind: "versionstamp", bytes: stamp}.orError(err)
}

func watch(ctx context.Context, r *replay, s *slot, st *step) answer {
	key, err := st.Key.bytes(r.known)
	if err != nil {
		return done(err)
	}
	r.watches[st.ID] = s.tx.Watch(key)
	return r.lookAtWatch(ctx, st, watchWait)
}

func watchState(ctx context.Context, r *replay, _ *slot, st *step) answer {
	return r.lookAtWatch(ctx, st, r.patience(st, answer{kind: "fired"}))
}

func (r *replay) lookAtWatch(ctx context.Context, st *step, atMost time.Duration) answer {
	future, ok := r.watches[st.ID]
	if !ok {
		return done(fmt.Errorf("there is no watch %d", st.ID))
	}
	pause(ctx, future.Done(), atMost)
	if !future.Ready() {
		return answer{kind: "fired"}
	}
	_, err := future.Get(ctx)
	return answer{kind: "fired", flag: true}.orError(err)
}

func cancelWatch(_ context.Context, r *replay, _ *slot, st *step) answer {
	future, ok := r.watches[st.ID]
	if !ok {
		return done(fmt.Errorf("there is no watch %d", st.ID))
	}
	future.Cancel()
	return answer{}
}

// patience is how long to look at a future: as long as the recording did,
// shorter where nothing must happen.
func (r *replay) patience(st *step, quiet answer) time.Duration {
	wait := time.Duration(st.WaitMS) * time.Millisecond
	if want, err := parseWant(st.Want, r.known); err == nil && want.equal(quiet) {
		return min(wait, quietWait)
	}
	return wait
}
