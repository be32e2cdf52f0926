# MCP over standard input and output, for keep.rb.
require 'json'

def serve(tools)
  $stdout.sync = true
  $stdin.each_line do |line|
    message = JSON.parse(line)
    next unless message.key?('id')
    params = message['params'] || {}
    result =
      case message['method']
      when 'initialize'
        { protocolVersion: params['protocolVersion'], capabilities: { tools: {} }, serverInfo: { name: 'keep', version: '1.0.0' } }
      when 'tools/list'
        { tools: tools.map { |name, (arguments, _)| { name: name, inputSchema: { type: 'object', properties: arguments.to_h { |a| [a, { type: 'string' }] } } } } }
      when 'tools/call'
        begin
          { content: [{ type: 'text', text: tools[params['name']][1].call(params['arguments']) }], isError: false }
        rescue StandardError => e
          { content: [{ type: 'text', text: e.message }], isError: true }
        end
      else {}
      end
    puts JSON.generate(jsonrpc: '2.0', id: message['id'], result: result)
  end
end
