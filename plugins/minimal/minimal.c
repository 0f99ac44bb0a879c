// Adds the header `x-plugin: minimal` to each response; a configuration replaces the value.
//
// The least that is a plugin: no SDK, no C library, one page of memory. All that a Proxy-Wasm module must have is here,
// in the order in which the proxy uses it. `plugins/build.sh minimal` compiles it.

typedef unsigned int uint32_t;

// 1. Imports: the functions of the proxy, in the module `env`. All return a status, of which 0 is success. The proxy
//    reads and writes the memory of the module; a `char *` is an address in it.

#define IMPORT(name) __attribute__((import_module("env"), import_name(#name)))

// Sets a header. `map` is 0 for the request's headers and 2 for the response's.
IMPORT(proxy_replace_header_map_value)
uint32_t proxy_replace_header_map_value(uint32_t map, const char *key, uint32_t key_size, const char *value,
                                        uint32_t value_size);

// Copies a buffer into memory that the proxy requests from `proxy_on_memory_allocate`. `buffer` is 7 for the
// configuration of the plugin.
IMPORT(proxy_get_buffer_bytes)
uint32_t proxy_get_buffer_bytes(uint32_t buffer, uint32_t start, uint32_t max_size, char **data, uint32_t *size);

enum { RESPONSE_HEADERS = 2, PLUGIN_CONFIGURATION = 7 };

// 2. Exports: the functions that the proxy calls. A module exports those that it needs.

#define EXPORT(name) __attribute__((export_name(#name)))

// Names the version of the interface. Its presence is all that counts.
EXPORT(proxy_abi_version_0_2_1) void proxy_abi_version_0_2_1(void) {}

// 3. Memory: the proxy requests some for each value that it returns. This plugin requests one value in its life, its
//    configuration, so that a static array is enough; 0 refuses a second one, and the proxy takes that for an error.

static char memory[1024];
static int is_occupied;

EXPORT(proxy_on_memory_allocate) void *proxy_on_memory_allocate(uint32_t size) {
    if (is_occupied || size > sizeof memory) {
        return 0;
    }
    is_occupied = 1;
    return memory;
}

// 4. The plugin as a whole. It has a context, whose number is passed to each callback; each exchange has one, too.

static const char *value = "minimal";
static uint32_t value_size = 7;

// Called at the start. 0 refuses to start, here if the configuration is longer than the array.
EXPORT(proxy_on_configure) uint32_t proxy_on_configure(uint32_t plugin_context, uint32_t configuration_size) {
    (void)plugin_context;
    if (configuration_size == 0) {
        return 1;
    }
    char *data;
    uint32_t size;
    if (proxy_get_buffer_bytes(PLUGIN_CONFIGURATION, 0, configuration_size, &data, &size) != 0) {
        return 0;
    }
    value = data;
    value_size = size;
    return 1;
}

// Called at the start of the plugin with `parent_context` 0, and at the start of each exchange with the plugin's. A
// plugin that keeps data for each exchange creates it here and deletes it in `proxy_on_delete`.
EXPORT(proxy_on_context_create) void proxy_on_context_create(uint32_t context, uint32_t parent_context) {
    (void)context;
    (void)parent_context;
}

// 5. The exchange.

// Called when the response's headers are there. Returns 0 to continue, 1 to hold the headers.
EXPORT(proxy_on_response_headers)
uint32_t proxy_on_response_headers(uint32_t context, uint32_t header_count, uint32_t end_of_stream) {
    (void)context;
    (void)header_count;
    (void)end_of_stream;
    static const char key[] = "x-plugin";
    proxy_replace_header_map_value(RESPONSE_HEADERS, key, sizeof key - 1, value, value_size);
    return 0;
}
