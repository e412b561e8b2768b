package connpool

import "context"

// DefaultDestination labels requests that name no destination.
const DefaultDestination = "external"

type destinationKey struct{}

// WithDestination labels the requests made under the returned context with the name of the server they are meant
// for. The label holds for everything below the context, so for each retry and each redirect, and ends with it;
// ctx itself keeps the label it had. An empty name means [DefaultDestination].
//
// The name becomes a metric attribute: use configured server names, which are few, and never a URL.
func WithDestination(ctx context.Context, name string) context.Context {
	if name == "" {
		name = DefaultDestination
	}
	return context.WithValue(ctx, destinationKey{}, name)
}

// Destination returns the label that ctx carries, or [DefaultDestination].
func Destination(ctx context.Context) string {
	if name, ok := ctx.Value(destinationKey{}).(string); ok {
		return name
	}
	return DefaultDestination
}
