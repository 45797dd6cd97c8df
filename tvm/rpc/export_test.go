package rpc

import "context"

// Place takes a place at the tracker, and leaves it to the caller to use it.
func (c *TrackerClient) Place(ctx context.Context, key string, priority int) (addr, place string, err error) {
	return c.request(ctx, key, priority)
}
